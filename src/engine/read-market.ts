import type { ChainView } from '../ports.ts'
import { askChain } from '../venues/chain-requests.ts'
import type { OrderContext } from '../venues/context.ts'
import type { marketOf } from './market-snapshot.ts'
import { callsHead } from './registration.ts'

/** Newest block time of the call chain; undefined until the account is compared, as if the chain were unavailable. */
export async function comparedHead(context: OrderContext): Promise<number | undefined> {
  return context.compared.account.missing() === undefined ? callsHead(context) : undefined
}

/** One batched read for all due strategies. */
export async function readMarket(
  context: OrderContext,
  market: ReturnType<typeof marketOf>,
): Promise<ChainView | undefined> {
  if (context.compared.trader.missing() !== undefined) return undefined
  const reply = await askChain(context, { route: 'view', doing: 'reading the market' }, () =>
    context.ports.chain.view({
      owner: context.ports.signer.address,
      ...market,
    }),
  )
  if (!reply.ok) return undefined
  context.market.latest = { view: reply.value, readAtMs: context.ports.clock.now() }
  return reply.value
}

/** Time of the newest block, epoch seconds. Rejects if the chain cannot be read. */
export async function newestBlockSeconds(context: OrderContext): Promise<number> {
  const doing = { route: 'identity', doing: 'reading the newest block' } as const
  const identity = await askChain(context, doing, () => context.ports.chain.identity())
  if (!identity.ok) throw new Error('the chain cannot be read now; try again')
  return identity.value.blockTimeSeconds
}
