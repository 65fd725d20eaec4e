"""What can be rented: offers of many providers on one basis, and the price histories."""
