import { constants } from 'node:os'
import type { Hex } from 'viem'
import type { SandboxLog } from '../log.ts'
import { type GenesisTerms, type ResumedState, startAnvil } from './anvil.ts'
import { mineBlocks } from './blocks.ts'
import { createRpc, type Rpc } from './rpc.ts'

/** A node that serves a chain, with blocks that come by themselves. */
export type Chain = {
  readonly rpc: Rpc
  readonly rpcUrl: string
  readonly evmPid: number
  /** Resolves with why it ended, in words. */
  readonly ended: Promise<string>
  readonly genesisHash: Hex
  readonly genesis: GenesisTerms
}

/** A chain of before, and the accounts that the services send from. Their keys were the node's own, and are gone with it. */
export type ResumedChain = ResumedState & { readonly senders: readonly Hex[] }

export type ChainOptions = {
  readonly chainId: number
  readonly bin: string | undefined
  readonly port: number | undefined
  /** See `mineBlocks`. */
  readonly blockIntervalMs: number | undefined
  readonly resumed: ResumedChain | undefined
  readonly log: SandboxLog
}

type Block = {
  readonly hash: Hex
  readonly gasLimit: Hex
  readonly baseFeePerGas: Hex
  readonly timestamp: Hex
}

/** A node that has loaded a chain knows the state at its last block alone, and readers look some blocks back. */
const BLOCKS_RESUMED = 3

/** Starts a node; pushes onto `undo` how to end it. */
export async function startChain(
  options: ChainOptions,
  undo: (() => Promise<void>)[],
): Promise<Chain> {
  const { resumed, log, blockIntervalMs: everyMs } = options
  const anvil = await startAnvil(options)
  undo.push(() => anvil.stop())
  const rpc = createRpc(anvil.rpcUrl)
  undo.push(() => rpc.close())
  if (resumed !== undefined) await goOn(rpc, resumed)
  undo.push(mineBlocks(rpc, { everyMs, log }))
  const first = await blockAt(rpc, '0x0')
  return {
    rpc,
    rpcUrl: anvil.rpcUrl,
    evmPid: anvil.pid,
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
  if (code === null) return 'with what watched over it'
  const signal = Object.entries(constants.signals).find(([, number]) => number === code - SIGNALLED)
  return signal === undefined ? `exit code ${code}` : `killed by ${signal[0]}`
}

/** Sets the clock, which the node lets begin at the genesis again, and lets the services send. */
async function goOn(rpc: Rpc, { senders }: ResumedChain): Promise<void> {
  const last = await blockAt(rpc, 'latest')
  // The machine's clock may have been put back since, and somebody may have put the chain's forward.
  const now = Math.max(Math.floor(Date.now() / 1000), Number(last.timestamp))
  await rpc.call('evm_setTime', [now])
  for (const sender of senders) await rpc.call('anvil_impersonateAccount', [sender])
  for (let mined = 0; mined < BLOCKS_RESUMED; mined += 1) await rpc.call('evm_mine')
}

function blockAt(rpc: Rpc, at: string): Promise<Block> {
  return rpc.call<Block>('eth_getBlockByNumber', [at, false])
}

/** The chain with everything that was ever on it, as the node itself writes it: JSON, gzipped. */
export async function dumpChain(rpc: Rpc): Promise<Buffer> {
  const dump = await rpc.call<Hex>('anvil_dumpState')
  return Buffer.from(dump.slice(2), 'hex')
}
