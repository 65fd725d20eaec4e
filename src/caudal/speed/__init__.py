"""How fast one step is: prefill and decode seconds, from roofline and calibrated efficiency.

Other rooms call `work.step_work`, `gpus.GpuColumns.of`, `steps.decode_step_seconds`,
`steps.prefill_seconds`, `steps.spread`, `steady.capacity_curve`, `steady.steady_state_closed`, and
`ceiling` for what no kernel can pass. `steps.Pace` serves those who explain a figure.
"""
