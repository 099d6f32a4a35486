import { type Intent, intentId } from '../domain/intent.ts'
import { latestStartMs, type SlotSeconds } from '../domain/schedule/schedule.ts'
import type { CallStrategy } from '../domain/strategy.ts'
import type { Address } from '../domain/units.ts'
import type { Decision } from './decision.ts'

/** A scheduled call: every slot makes the same one. Whether it would revert is asked right before it is signed. */
export function decideCall(
  strategy: CallStrategy,
  view: { readonly slotSeconds: SlotSeconds; readonly caller: Address },
): Decision {
  const { slotSeconds } = view
  const leg = 0
  const intent: Intent = {
    id: intentId({ strategy: strategy.name, slotSeconds, leg }),
    venue: 'aggregated',
    strategy: strategy.name,
    slotSeconds,
    leg,
    owner: view.caller,
    startBeforeMs: latestStartMs(strategy.schedule, slotSeconds),
    target: strategy.target,
    calldata: strategy.calldata,
    value: strategy.value,
    gasLimit: strategy.gasLimit,
    label: strategy.label,
  }
  return { tag: 'trade', intents: [intent] }
}
