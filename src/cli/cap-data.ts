import type { CapUse } from '../domain/book/caps.ts'
import { amountData } from './amount-data.ts'
import type { CapData } from './json/shapes.ts'

/** How full a cap is, as every command's `--json` has it. */
export function capData({ strategy, window, token, used, cap }: CapUse): CapData {
  return {
    strategy: strategy ?? null,
    window,
    used: amountData(used, token),
    cap: amountData(cap, token),
  }
}
