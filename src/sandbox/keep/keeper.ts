import type { AggregatorState } from '../aggregator/venue.ts'
import type { GenesisTerms } from '../evm/anvil.ts'
import { type Chain, dumpChain } from '../evm/chain.ts'
import type { DeploymentRecord } from '../evm/deploy.ts'
import type { BookState } from '../gasless/orders.ts'
import type { MarketState } from '../market/market.ts'
import type { Gate } from './gate.ts'
import type { BoundTerms } from './terms.ts'
import { encode } from './text.ts'

/** What both chains have: one value for each. */
export type OfChains<Value> = { readonly base: Value; readonly aggregator: Value }

/** Where the parts listen; URLs end without a slash. */
export type SandboxUrls = {
  readonly rpcUrl: string
  readonly gaslessUrl: string
  readonly adminUrl: string
  readonly aggregatorRpcUrl: string
  readonly aggregatorUrl: string
}

/** Everything of a sandbox that its chains do not tell. */
export type SandboxState = {
  readonly urls: SandboxUrls
  readonly genesis: OfChains<GenesisTerms>
  readonly terms: BoundTerms
  readonly deployment: DeploymentRecord
  readonly traderKey: `0x${string}`
  readonly market: MarketState
  readonly book: BookState
  readonly aggregator: AggregatorState
}

/** A sandbox of before, and the file with each chain as its node dumped it. */
export type Resumed = { readonly state: SandboxState; readonly stateFiles: OfChains<string> }

/** All of a sandbox at one moment: its state as text, and the dumps of its chains, gzipped. */
export type Snapshot = { readonly state: string; readonly dumps: OfChains<Buffer> }

/** Where a sandbox is kept. */
export type Keep = {
  /** What it goes on from; undefined where it begins. */
  readonly former: Resumed | undefined
  /** Puts a snapshot in place of the one before, whole or not at all. */
  write(snapshot: Snapshot): Promise<void>
  /** Hears that a snapshot could not be taken or written while the sandbox runs on, one line. */
  tell(line: string): void
}

/** Takes a snapshot now and then, and a last one. */
export type Keeper = {
  /** Takes the first; rejects where it cannot be written. */
  begin(look: () => SandboxState): Promise<void>
  /** The services have stopped and the chains have not. */
  stop(): Promise<void>
}

/** A killed sandbox loses no more than this, unless snapshots take long. */
const EVERY_MS = 1_000
/** So much longer than a snapshot took nothing is held up again. */
const PAUSE_OF_LAST = 20

const NOTHING_KEPT: Keeper = { begin: async () => undefined, stop: async () => undefined }

export function createKeeper(
  keep: Keep | undefined,
  { gate, chains }: { readonly gate: Gate; readonly chains: OfChains<Chain> },
): Keeper {
  if (keep === undefined) return NOTHING_KEPT
  let look: (() => SandboxState) | undefined
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let stopped = false
  const takeOne = async (seen: () => SandboxState): Promise<void> => {
    const snapshot = await gate.alone(async () => {
      // Before the chains: what they have more than the services know of is found on them, never the other way round.
      const state = encode(seen())
      const [base, aggregator] = await Promise.all([
        dumpChain(chains.base.rpc),
        dumpChain(chains.aggregator.rpc),
      ])
      return { state, dumps: { base, aggregator } }
    })
    await keep.write(snapshot)
  }
  const scheduleAfter = (tookMs: number, seen: () => SandboxState): void => {
    if (stopped) return
    timer = setTimeout(
      () => {
        running = takeNext(seen)
      },
      Math.max(EVERY_MS, tookMs * PAUSE_OF_LAST),
    )
  }
  const takeNext = async (seen: () => SandboxState): Promise<void> => {
    const beganAtMs = performance.now()
    await takeOne(seen).catch((error: unknown) => {
      const why = error instanceof Error ? error.message : String(error)
      keep.tell(`the sandbox could not be kept as it is now, and tries again: ${why}`)
    })
    scheduleAfter(performance.now() - beganAtMs, seen)
  }
  return {
    async begin(seen) {
      const beganAtMs = performance.now()
      await takeOne(seen)
      look = seen
      scheduleAfter(performance.now() - beganAtMs, seen)
    },
    async stop() {
      stopped = true
      clearTimeout(timer)
      await running
      if (look !== undefined) await takeOne(look)
    },
  }
}
