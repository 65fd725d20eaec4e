from caudal.simulate.prefix_cache import BlockPool, Hit, Piece


def pool_with(*, blocks: int = 10) -> BlockPool:
    return BlockPool(blocks, 4)


def run_through(pool: BlockPool, pieces: tuple[Piece, ...], *, computed: int) -> None:
    """Compute so many tokens of a request that is alone, and end it."""
    pool.take(pool.blocks_of(computed))
    pinned, given = pool.publish(pieces, computed=computed, pinned=0)
    pool.used -= pool.blocks_of(computed) - given
    for piece in reversed(pieces[:pinned]):
        pool.unpin(piece.node)


def test_whole_blocks_of_an_ended_request_are_found_again() -> None:
    pool = pool_with()
    pieces = (Piece(0, 8), Piece(1, 18))

    run_through(pool, pieces, computed=18)

    assert pool.used == 0
    assert pool.evictable == 4
    assert pool.look_up(pieces, target=30) == Hit(tokens=16, pinned=4, nodes=2)


def test_the_last_token_of_a_prompt_is_never_cached() -> None:
    pool = pool_with()
    pieces = (Piece(0, 8),)
    run_through(pool, pieces, computed=8)

    assert pool.look_up(pieces, target=8).tokens == 4


def test_another_beginning_finds_nothing() -> None:
    pool = pool_with()
    run_through(pool, (Piece(0, 8), Piece(1, 16)), computed=16)

    assert pool.look_up((Piece(2, 8), Piece(1, 16)), target=20) == Hit()


def test_what_was_let_go_first_is_evicted_first_and_from_its_end() -> None:
    pool = pool_with(blocks=8)
    run_through(pool, (Piece(0, 16),), computed=16)
    run_through(pool, (Piece(1, 16),), computed=16)

    pool.take(2)

    assert pool.look_up((Piece(0, 16),), target=40).tokens == 8
    assert pool.look_up((Piece(1, 16),), target=40).tokens == 16


def test_a_piece_in_use_is_not_evicted() -> None:
    pool = pool_with(blocks=4)
    run_through(pool, (Piece(0, 16),), computed=16)

    pool.pin(0)

    assert pool.free == 0
    assert pool.evictable == 0


def test_the_end_of_a_conversation_is_dropped_before_its_beginning() -> None:
    pool = pool_with(blocks=6)
    pieces = (Piece(0, 8), Piece(1, 24))
    run_through(pool, pieces, computed=24)

    pool.take(3)

    assert pool.look_up(pieces, target=40).tokens == 12


def test_what_another_computed_meanwhile_stays_with_its_request() -> None:
    pool = pool_with()
    pieces = (Piece(0, 8),)
    pool.take(4)
    first = pool.publish(pieces, computed=8, pinned=0)

    second = pool.publish(pieces, computed=8, pinned=0)

    assert first == (1, 2)
    assert second == (0, 0)
