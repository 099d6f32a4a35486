import { messageOf } from '../../domain/errors.ts'
import type { AggregatorState } from '../aggregator/aggregator-service.ts'
import type { GenesisTerms } from '../evm/anvil.ts'
import type { DeploymentRecord } from '../evm/deploy.ts'
import { type Chain, dumpChain } from '../evm/evm-chain.ts'
import type { OrderStoreState } from '../gasless/order-store.ts'
import type { MarketState } from '../market/market.ts'
import type { BoundTerms } from '../options.ts'
import type { Gate } from './gate.ts'

export type OfChains<Value> = { readonly base: Value; readonly aggregator: Value }

/** URLs of the parts, without a trailing slash. */
export type SandboxUrls = {
  readonly rpcUrl: string
  readonly gaslessUrl: string
  readonly adminUrl: string
  readonly aggregatorRpcUrl: string
  readonly aggregatorUrl: string
}

/** State of a sandbox, except for its chains. */
export type SandboxState = {
  readonly urls: SandboxUrls
  readonly genesis: OfChains<GenesisTerms>
  readonly terms: BoundTerms
  readonly deployment: DeploymentRecord
  readonly traderKey: `0x${string}`
  readonly market: MarketState
  readonly book: OrderStoreState
  readonly aggregator: AggregatorState
}

/** An earlier sandbox, and the file with each chain's dump. */
export type Resumed = { readonly state: SandboxState; readonly stateFiles: OfChains<string> }

/** A sandbox at one moment: its state as text, and the gzipped dumps of its chains. */
export type Snapshot = { readonly state: string; readonly dumps: OfChains<Buffer> }

export type Keep = {
  readonly former: Resumed | undefined
  /** Replaces the last snapshot atomically. */
  write(snapshot: Snapshot): Promise<void>
  /** Reports, in one line, a failed snapshot; the sandbox continues. */
  report(line: string): void
}

/** A killed sandbox loses at most this, unless snapshots take long. */
const EVERY_MS = 1_000
/** A snapshot stops the services. The pause after it is this many times as long. */
const PAUSE_OF_LAST = 20

/** Takes snapshots at intervals, and a last one when it stops. */
export function createKeeper(
  keep: Keep | undefined,
  { gate, chains }: { readonly gate: Gate; readonly chains: OfChains<Chain> },
) {
  let take: (() => Promise<void>) | undefined
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let stopped = false
  const snapshotOf = (stateNow: () => SandboxState): Promise<Snapshot> =>
    gate.alone(async () => {
      // The state comes before the chains: services can find what a chain has in addition, but not the reverse.
      const state = encode(stateNow())
      const [base, aggregator] = await Promise.all([
        dumpChain(chains.base.rpc),
        dumpChain(chains.aggregator.rpc),
      ])
      return { state, dumps: { base, aggregator } }
    })
  const scheduleNext = (beganAtMs: number): void => {
    if (stopped) return
    const pauseMs = (performance.now() - beganAtMs) * PAUSE_OF_LAST
    timer = setTimeout(
      () => {
        running = takeNext()
      },
      Math.max(EVERY_MS, pauseMs),
    )
  }
  const takeNext = async (): Promise<void> => {
    const beganAtMs = performance.now()
    await take?.().catch((error: unknown) => {
      keep?.report(`the snapshot of the sandbox failed and is retried: ${messageOf(error)}`)
    })
    scheduleNext(beganAtMs)
  }
  return {
    /** Takes the first snapshot. Rejects if it cannot be written. */
    async begin(stateNow: () => SandboxState): Promise<void> {
      if (keep === undefined) return
      const beganAtMs = performance.now()
      await keep.write(await snapshotOf(stateNow))
      take = async () => keep.write(await snapshotOf(stateNow))
      scheduleNext(beganAtMs)
    },
    /** Call after the services have stopped and before the chains stop. */
    async stop(): Promise<void> {
      stopped = true
      clearTimeout(timer)
      await running
      await take?.()
    },
  }
}

const BIG = '$bigint'

/** JSON with bigints as `{ "$bigint": text }`. */
export function encode(value: unknown): string {
  return JSON.stringify(value, (_, field: unknown) =>
    typeof field === 'bigint' ? { [BIG]: field.toString() } : field,
  )
}

/** Reverses `encode`, without undefined fields. Throws SyntaxError. */
export function decode(text: string): unknown {
  return JSON.parse(text, (_, field: unknown) => {
    const digits = isMap(field) ? field[BIG] : undefined
    return typeof digits === 'string' ? BigInt(digits) : field
  })
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
