import type { SandboxLog } from '../log.ts'
import { repeat } from '../repeat.ts'
import type { Rpc } from './rpc.ts'

const BLOCK_MS = 1_000

/** Mines a block each second, or each `everyMs`, transactions or none; returns how to end it. */
export function mineBlocks(
  rpc: Rpc,
  { everyMs = BLOCK_MS, log }: { readonly everyMs: number | undefined; readonly log: SandboxLog },
): () => Promise<void> {
  if (everyMs === 0) return async () => undefined
  return repeat(everyMs, () => rpc.call('evm_mine'), log)
}
