import type { DaemonState } from '../domain/book/state.ts'
import { createPricePaths } from '../domain/price.ts'
import type { Settings } from '../domain/settings.ts'
import type { Address } from '../domain/units.ts'
import { marketOf, type Wanted } from '../engine/view.ts'
import type { ChainView } from '../ports.ts'
import { withClock } from './compose/clock.ts'
import { composeChain } from './compose/services.ts'
import { holderOf } from './compose/state.ts'
import { readWalletAddress } from './compose/wallets.ts'
import type { Io } from './io.ts'

/** The market and the wallet as a command sees them that only looks. */
export type Market =
  | { readonly ok: true; readonly view: ChainView; readonly owner: Address }
  | { readonly ok: false; readonly why: string }

/** One batched read over the config's own nodes. Needs no key where the state or a keystore names the wallet. */
export async function readMarketNow(
  settings: Settings,
  wanted: Wanted,
  { state, io }: { readonly state: DaemonState; readonly io: Io },
): Promise<Market> {
  const owner =
    state.bound?.owner ?? (await readWalletAddress(settings, settings.gasless.wallet, io))
  if (owner === undefined) return { ok: false, why: "the wallet's address is not known" }
  return withClock(async (clock) => {
    const chain = composeChain({ settings, clock, observe: () => undefined })
    try {
      const asked = marketOf(wanted, createPricePaths(settings.prices.values()))
      const reply = await chain.view({ owner, ...asked })
      return reply.ok
        ? { ok: true, view: reply.value, owner }
        : { ok: false, why: unreadText(settings, reply.fault.message) }
    } finally {
      await chain.close()
    }
  })
}

/** Why a chain could not be read. The sandbox of `run` ends with it: that its node does not answer is no fault of it. */
export function unreadText({ mode, stateDir }: Settings, message: string): string {
  return mode === 'sandbox' && holderOf(stateDir) === undefined
    ? 'no sandbox runs here; `tranched run` starts one'
    : message
}
