import { briefText } from '../domain/money/amount-text.ts'
import { shownToken } from '../domain/money/token.ts'
import { maxOf } from '../domain/money/units.ts'
import type { SlotSeconds } from '../domain/schedule/schedule.ts'
import { strangerText } from '../domain/text/nearest.ts'
import { purchaseOf } from '../journal/projections/purchases.ts'
import type { DaemonState } from '../journal/state/daemon-state.ts'
import type { ManualOrder } from '../strategies/manual/manual-kind.ts'
import { assetsOf, makesCalls, type Strategy } from '../strategies/registry.ts'
import { hearServiceClock, trustedNow } from '../venues/chain-requests.ts'
import { haltedNow } from '../venues/close.ts'
import type { OrderContext } from '../venues/context.ts'
import { openSwaps } from '../venues/swap/swap-projection.ts'
import { heldNow, termsOfPrices } from './limits/hold.ts'
import { marketOf, type Wanted, wantedBy } from './market-snapshot.ts'
import type { PendingRequests } from './pending-requests.ts'
import { comparedHead, readMarket } from './read-market.ts'
import { headOf, headsOf } from './registration.ts'
import type { Taken } from './slot.ts'
import { isEntered, type Upcoming } from './upcoming.ts'

type Agenda = {
  readonly context: OrderContext
  readonly upcoming: Upcoming
  readonly pendingRequests: PendingRequests
}

type Triggering = { readonly done: Promise<Triggered> }

export type Triggered =
  | (Taken & { readonly ok: true; readonly slotSeconds: SlotSeconds })
  | { readonly ok: false; readonly detail: string }

export async function trigger(
  agenda: Agenda,
  name: string,
  order?: ManualOrder,
): Promise<Triggering> {
  const { context, upcoming, pendingRequests } = agenda
  const refused = (detail: string): Triggering => ({ done: Promise.resolve({ ok: false, detail }) })
  const { clock, gasless, journal } = context.ports
  const strategy = upcoming.strategies.find((each) => each.name === name)
  if (strategy === undefined) return refused(notEnabledText(context, upcoming, name))
  const stopped =
    stoppedText(context, strategy) ?? (order && misfitText(order, strategy, journal.state))
  if (stopped !== undefined) return refused(stopped)
  const isCall = makesCalls(strategy)
  const view = await readMarket(context, marketOf(wantedFor(strategy, order), context.pricePath))
  const calls = isCall ? await comparedHead(context) : undefined
  if (!isCall) await hearServiceClock(context)
  const head = headOf(headsOf(context, { swaps: view?.blockTimeSeconds, calls }), strategy)
  if (context.closing.aborted) return refused('the daemon is stopping')
  if (head === undefined) return refused('the market could not be read')
  // A fast clock would use up every slot until its time.
  const serviceOffsetMs = isCall ? undefined : gasless.clockOffsetMs()
  const time = trustedNow(context, { blockTimeSeconds: head, serviceOffsetMs })
  if (!time.ok) return refused(time.detail)
  const nowMs = clock.now()
  const record = journal.state.strategies.get(name)
  if (!isEntered(record, strategy))
    return refused(`the slots of ${name} do not count yet: its clocks disagree`)
  const slotSeconds = freeSecond(agenda, strategy, { ...record, nowMs })
  if (typeof slotSeconds === 'string') return refused(slotSeconds)
  const taken = pendingRequests.take({ context, strategy, slotSeconds, view, nowMs, order })
  return { done: taken.then((slot) => ({ ok: true, slotSeconds, ...slot })) }
}

/** This second, or the next if it is taken; text if a slot of the schedule comes first. */
function freeSecond(
  { upcoming, pendingRequests }: Pick<Agenda, 'upcoming' | 'pendingRequests'>,
  strategy: Strategy,
  { lastSlotSeconds, nowMs }: { readonly lastSlotSeconds: SlotSeconds; readonly nowMs: number },
): SlotSeconds | string {
  const { name } = strategy
  // The strategy may have been registered during the read, and owe older slots.
  if (!pendingRequests.has(name)) upcoming.refresh(strategy)
  const slotSeconds = Math.max(Math.floor(nowMs / 1000), lastSlotSeconds + 1)
  const owedSlot = upcoming.nextOf(name)
  const isAhead = slotSeconds * 1000 - nowMs > 1_000
  const isOwed = owedSlot !== undefined && owedSlot <= slotSeconds
  if (isOwed && slotSeconds - owedSlot > 1)
    return `a slot of ${name} waits already: \`tranched plan\` says what for`
  return isAhead || isOwed || pendingRequests.has(name)
    ? `${name} has a slot of its own at this very moment`
    : slotSeconds
}

function wantedFor(strategy: Strategy, order: ManualOrder | undefined): Wanted {
  const own = wantedBy([strategy])
  return order === undefined
    ? own
    : { ...own, pairs: [{ sell: order.sell.token, buy: order.buy.token }] }
}

/** Why a strategy cannot carry out an order by hand; undefined if it can. */
export function misfitText(
  { sell, buy, size, isOfPurchases }: ManualOrder,
  strategy: Strategy,
  state: DaemonState,
): string | undefined {
  if (makesCalls(strategy)) return `${strategy.name} makes calls and trades no tokens`
  const traded = new Set(assetsOf(strategy).map(({ token }) => token.address))
  const strange = [sell, buy].find(({ token }) => !traded.has(token.address))
  if (strange !== undefined)
    return `${strategy.name} does not trade ${shownToken(strange).symbol}: leave out --strategy`
  if (!isOfPurchases || size.side !== 'sell') return undefined
  const bought = { bought: sell.token, paidIn: buy.token }
  let { amount: free } = purchaseOf(state, strategy.name, bought)
  for (const { intent } of openSwaps(state))
    if (intent.entry?.of === strategy.name && intent.sell.token.address === sell.token.address)
      free -= intent.maxSell
  if (size.amount <= free) return undefined
  const holds = briefText(maxOf(free, 0n), sell.token)
  return `${strategy.name} holds ${holds} that it bought with ${buy.token.symbol}: sell at most that, or leave out --strategy`
}

function notEnabledText({ ports }: OrderContext, { strategies }: Upcoming, name: string): string {
  return ports.journal.state.strategies.has(name)
    ? `no enabled strategy is called ${name}: its file is gone, or says enabled: false`
    : strangerText(
        name,
        strategies.map((each) => each.name),
      )
}

/** Why the trigger would decide nothing (halt, pause or pending approval), and the remedy. */
function stoppedText(context: OrderContext, strategy: Strategy): string | undefined {
  const { name } = strategy
  const { pricePath, ports } = context
  const { journal, modules } = ports
  const halted = haltedNow(context)
  if (halted !== undefined)
    return `everything is halted (${halted.detail}): \`tranched resume\` lifts it`
  const paused = journal.state.strategies.get(name)?.paused
  if (paused !== undefined)
    return `${name} is paused (${paused.detail}): \`tranched resume ${name}\` ends it`
  const terms = termsOfPrices(strategy, modules.versionOf, pricePath)
  const held = heldNow(journal.state, strategy, terms)
  if (held === undefined) return undefined
  return `${name} waits for your approval (${held.detail}): \`tranched approve ${name}\` gives it`
}
