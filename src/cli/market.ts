import { createPricePaths } from '../domain/money/price.ts'
import type { Token } from '../domain/money/token.ts'
import { type Address, ZERO_ADDRESS } from '../domain/money/units.ts'
import { hasSwaps, type Settings } from '../domain/settings.ts'
import { marketOf, type Wanted } from '../engine/market-snapshot.ts'
import type { DaemonState } from '../journal/state/daemon-state.ts'
import type { ChainView } from '../ports.ts'
import { readLock } from '../store/lock/state-lock.ts'
import { composeChain } from './compose/services.ts'
import { withClock } from './compose/state.ts'
import { readWalletAddress } from './compose/wallets.ts'
import type { Io } from './process/io.ts'
import { Refusal } from './process/refusal.ts'

export function tokensOn(chain: string, { tokens }: Pick<Settings, 'tokens'>): readonly Token[] {
  return [...tokens.values()].filter((token) => token.chain === chain)
}

/** Tokens on the gasless service's chain, the only ones for which the trading wallet can have approvals. */
export function tradedTokens(settings: Settings): readonly Token[] {
  return tokensOn(settings.gasless.chain, settings)
}

/** Refuses a command about swaps under a config that only makes calls. */
export function requireSwaps(settings: Settings, by: string): void {
  if (hasSwaps(settings)) return
  const message = 'nothing swaps under this config: it has no `gasless` section'
  throw new Refusal(`${settings.file}: ${message}`, { by })
}

/** Prices and balances for a command that only reads. */
export type Market =
  | { readonly ok: true; readonly view: ChainView; readonly owner: Address }
  | { readonly ok: false; readonly why: string }

/** One batched read. Needs no key if the state or a keystore names the wallet. */
export async function readMarketNow(
  settings: Settings,
  wanted: Wanted,
  { state, io }: { readonly state: DaemonState; readonly io: Io },
): Promise<Market> {
  const owner =
    state.bound?.owner ?? (await readWalletAddress(settings, settings.gasless.wallet, io))
  if (owner === undefined) return { ok: false, why: "the wallet's address is unknown" }
  return readView(settings, wanted, owner)
}

/** Reads only prices, which need no wallet. */
export function readPricesNow(
  settings: Settings,
  pairs: Wanted['pairs'],
  msMax: number,
): Promise<Market> {
  return readView(settings, { tokens: [], pairs }, ZERO_ADDRESS, msMax)
}

async function readView(
  settings: Settings,
  wanted: Wanted,
  owner: Address,
  msMax?: number,
): Promise<Market> {
  return withClock(async (clock) => {
    const chain = composeChain({ settings, clock, observe: () => undefined })
    try {
      const query = marketOf(wanted, createPricePaths(settings.prices.values()))
      const reading = chain.view({ owner, ...query })
      const late = msMax === undefined ? [] : [clock.sleep(msMax)]
      const reply = await Promise.race([reading, ...late])
      if (typeof reply !== 'object') return { ok: false, why: 'no answer in time' }
      return reply.ok
        ? { ok: true, view: reply.value, owner }
        : { ok: false, why: unreadText(settings, reply.fault.message) }
    } finally {
      await chain.close()
    }
  })
}

/** A sandbox's node ends with its run, so its silence is not a fault. */
export function unreadText({ mode, stateDir }: Settings, message: string): string {
  return mode === 'sandbox' && readLock(stateDir) === undefined
    ? 'no sandbox runs here; `tranched run` starts one'
    : message
}
