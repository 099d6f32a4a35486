import { ETHER } from '../../domain/money/token.ts'
import { type Intent, intentId } from '../../domain/order/intent.ts'
import { latestStartMs } from '../../domain/schedule/schedule.ts'
import type { CallBase } from '../../domain/strategy.ts'
import { none, type StrategyKind } from '../kind.ts'

/** Calls a contract on every slot through the aggregation service. */
export type CallStrategy = CallBase & { readonly kind: 'call' }

const WEI = { token: ETHER, native: false }

export const call: StrategyKind<CallStrategy> = {
  venue: 'aggregated',
  decision: {
    by: 'calendar',
    /** The same call on every slot; simulated right before it is signed. */
    decide(
      { name: strategy, schedule, target, calldata, value, gasLimit, label, shown },
      { slotSeconds, caller: owner },
    ) {
      const leg = 0
      const intent: Intent = {
        id: intentId({ strategy, slotSeconds, leg }),
        venue: 'aggregated',
        strategy,
        slotSeconds,
        leg,
        owner,
        startBeforeMs: latestStartMs(schedule, slotSeconds),
        target,
        calldata,
        value,
        gasLimit,
        label,
        shown,
      }
      return { tag: 'trade', intents: [intent] }
    },
  },
  describe: ({ label, target }) => `call ${label} of ${target}`,
  assets: () => [],
  sells: ({ value }) => (value === 0n ? [] : [WEI]),
  pairs: () => [],
  shapesNoOrder: ['label', 'shown'] satisfies (keyof CallStrategy)[],
  fixedOrder: ({ value }) => ({ token: ETHER, amount: value }),
  plannedOrders: ({ value }) => [{ who: 'a call carries', asset: WEI, amount: value }],
  mostPerSlot: ({ value }) => value,
  nextSale: none,
  slicedTotal: none,
  marks: none,
  sampleSwap: ({ name }) => `no strategy that swaps is named ${name}`,
  portfolio: undefined,
  entry: none,
  trigger: undefined,
  quiet: none,
}
