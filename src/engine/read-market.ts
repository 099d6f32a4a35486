import { askChain } from '../execute/ask.ts'
import type { OrderContext } from '../execute/context.ts'
import type { ChainView } from '../ports.ts'
import { callsHead } from './enrolment.ts'
import type { marketOf } from './view.ts'

/** Nothing is decided for an account that is not compared with its chain yet: as where that is silent. */
export async function comparedHead(context: OrderContext): Promise<number | undefined> {
  return context.uncompared('aggregated') === undefined ? callsHead(context) : undefined
}

/** One batched read for all strategies that are due. */
export async function readMarket(
  context: OrderContext,
  market: ReturnType<typeof marketOf>,
): Promise<ChainView | undefined> {
  if (context.uncompared('gasless') !== undefined) return undefined
  const reply = await askChain(context, { route: 'view', doing: 'reading the market' }, () =>
    context.ports.chain.view({
      owner: context.ports.signer.address,
      ...market,
    }),
  )
  return reply.ok ? reply.value : undefined
}
