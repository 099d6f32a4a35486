import { createChain } from '../adapters/chain/chain-viem.ts'
import { createClock } from '../adapters/clock.ts'
import { readAddress } from '../adapters/keys/watch-only-signer.ts'
import { createScrubber } from '../adapters/tell/scrubber.ts'
import type { DaemonState } from '../domain/book/state.ts'
import { createPricePaths } from '../domain/price.ts'
import type { Settings } from '../domain/settings.ts'
import type { Strategy } from '../domain/strategy.ts'
import type { Address } from '../domain/units.ts'
import { marketOf, wantedBy } from '../engine/view.ts'
import type { ChainView } from '../ports.ts'
import { readSigner } from './daemon/operate.ts'
import type { Io } from './io.ts'

/** The market and the wallet as a command sees them that only looks. */
export type Market =
  | { readonly ok: true; readonly view: ChainView; readonly owner: Address }
  | { readonly ok: false; readonly why: string }

/** One batched read over the config's own nodes. Needs no key: only the wallet's address. */
export async function readMarketNow(
  settings: Settings,
  strategies: readonly Strategy[],
  at: { readonly state: DaemonState | undefined; readonly io: Io },
): Promise<Market> {
  const owner = await ownerOf(settings, at)
  if (owner === undefined) return { ok: false, why: "the wallet's address is not known" }
  const { gasless, chains, prices } = settings
  const chain = chains.get(gasless.chain)
  if (chain === undefined) return { ok: false, why: 'the chain is not configured' }
  const clock = createClock()
  const node = createChain({
    chainId: chain.chainId,
    rpcUrls: chain.rpcUrls,
    permit2: gasless.permit2,
    observe: () => undefined,
    clock,
  })
  try {
    const wanted = marketOf(wantedBy(strategies), createPricePaths(prices.values()))
    const reply = await node.view({ owner, ...wanted })
    return reply.ok
      ? { ok: true, view: reply.value, owner }
      : { ok: false, why: reply.fault.message }
  } finally {
    await node.close()
    await clock.close()
  }
}

/** As the state is bound, as a keystore says in the open, or else by the key itself. */
async function ownerOf(
  settings: Settings,
  { state, io }: { readonly state: DaemonState | undefined; readonly io: Io },
): Promise<Address | undefined> {
  if (state?.bound !== undefined) return state.bound.owner
  const source = settings.wallets.get(settings.gasless.wallet)
  const open = source === undefined ? undefined : await readAddress(source)
  if (open !== undefined) return open
  const read = await readSigner(settings, settings.gasless.wallet, {
    scrubber: createScrubber(),
    io,
  })
  return read.ok ? read.signer.address : undefined
}
