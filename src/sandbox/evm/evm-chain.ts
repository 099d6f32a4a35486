import { constants } from 'node:os'
import type { Hex } from 'viem'
import { repeat } from '../repeat.ts'
import { type ResumedState, startAnvil } from './anvil.ts'
import { blockAt, createRpc, type Rpc } from './rpc.ts'

export type Chain = Awaited<ReturnType<typeof startChain>>

/** `senders`: accounts that the services send from. Their keys were lost with the node that created them. */
type ResumedChain = ResumedState & { readonly senders: readonly Hex[] }

/** A resumed node has the state of its last block only, and clients read some blocks back. */
const BLOCKS_RESUMED = 3

/** Starts a node that mines at an interval. Pushes functions that end it onto `undo`. */
export async function startChain(
  options: Parameters<typeof startAnvil>[0] & {
    /** Time between blocks without a transaction; 0 mines none. */
    readonly blockIntervalMs: number
    readonly resumed: ResumedChain | undefined
  },
  undo: (() => Promise<void>)[],
) {
  const { resumed, log, blockIntervalMs: everyMs } = options
  const anvil = await startAnvil(options)
  undo.push(() => anvil.stop())
  const rpc = createRpc(anvil.rpcUrl)
  undo.push(() => rpc.close())
  if (resumed !== undefined) await resume(rpc, resumed)
  if (everyMs > 0) undo.push(repeat(everyMs, () => rpc.call('evm_mine'), log))
  const first = await blockAt(rpc, '0x0')
  return {
    rpc,
    rpcUrl: anvil.rpcUrl,
    evmPid: anvil.pid,
    /** Resolves with the reason when the node has ended. */
    ended: anvil.ended.then(
      (code) => `the EVM node of chain ${options.chainId} has ended (${endText(code)})`,
    ),
    genesisHash: first.hash,
    genesis: {
      gasLimit: Number(first.gasLimit),
      baseFee: Number(first.baseFeePerGas),
      timestamp: Number(first.timestamp),
    },
  }
}

const SIGNALLED = 128

function endText(code: number | null): string {
  if (code === null) return 'with its watchdog'
  const signal = Object.entries(constants.signals).find(([, number]) => number === code - SIGNALLED)
  return signal === undefined ? `exit code ${code}` : `killed by ${signal[0]}`
}

/** Sets the clock, which starts at genesis on a resumed node, and unlocks the services' accounts. */
async function resume(rpc: Rpc, { senders }: ResumedChain): Promise<void> {
  const last = await blockAt(rpc, 'latest')
  // The chain's clock may be ahead of the machine's.
  const now = Math.max(Math.floor(Date.now() / 1000), Number(last.timestamp))
  await rpc.call('evm_setTime', [now])
  for (const sender of senders) await rpc.call('anvil_impersonateAccount', [sender])
  for (let mined = 0; mined < BLOCKS_RESUMED; mined += 1) await rpc.call('evm_mine')
}

/** The node's dump of the whole chain: JSON, gzipped. */
export async function dumpChain(rpc: Rpc): Promise<Buffer> {
  const dump = await rpc.call<Hex>('anvil_dumpState')
  return Buffer.from(dump.slice(2), 'hex')
}
