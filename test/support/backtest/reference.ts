/**
 * A backtest of one strategy on WETH/USDC, by an independent loop and arithmetic: written from the documentation of
 * strategies and of the model, without any code of the program. USDC has 6 places, WETH 18, the feed 8.
 */

export type Reference = {
  /** USDC per WETH with 8 places, by epoch second of its round, ascending. */
  readonly rounds: readonly (readonly [atSeconds: number, answer: bigint])[]
  /** Epoch seconds, ascending. */
  readonly slots: readonly number[]
  readonly usdc: bigint
  readonly weth: bigint
  readonly spreadPpm: bigint
  readonly feePpm: bigint
  /** USDC of one order that move the price by 1 %. */
  readonly depth: bigint | undefined
  readonly quoteSeconds: number
  readonly fillSeconds: number
  readonly validSeconds: number
}

export type Rule =
  | { readonly kind: 'dca'; readonly amount: bigint; readonly perDay: bigint }
  | {
      readonly kind: 'above'
      /** USDC per WETH, whole. */
      readonly level: bigint
      readonly rearmBps: bigint
      readonly amount: bigint
    }
  | {
      readonly kind: 'rebalance'
      readonly wethBps: bigint
      readonly bandBps: bigint
      readonly minTrade: bigint
    }

/** `[slot, outcome, paid, received]`; for a skipped slot the reason. */
export type Line = readonly [slot: number, came: string, paid?: bigint, received?: bigint]

const ONE_WETH = 10n ** 18n
const PLACES = 10n ** 8n
const ONE_USDC = 10n ** 6n
const DAY = 86_400
/** Slots are an hour apart and may start that late, except for the two seconds of a decision. */
const WAITS_MAX = 3_598

type Order = { readonly sells: 'USDC' | 'WETH'; readonly amount: bigint }

export function playReference(
  past: Reference,
  rule: Rule,
): { readonly lines: readonly Line[]; readonly usdc: bigint; readonly weth: bigint } {
  let { usdc, weth } = past
  let isArmed = true
  const used: { readonly at: number; readonly amount: bigint }[] = []
  const lines: Line[] = []
  for (const slot of past.slots) {
    const startsAt = rule.kind === 'dca' ? whenFree(rule, { slot, used }) : slot
    const answer = answerAt(past, startsAt)
    const decided = decide(rule, { answer, slot: startsAt, usdc, weth, used, isArmed })
    isArmed = decided.isArmed
    const { order } = decided
    if (typeof order === 'string') {
      lines.push([slot, order])
      continue
    }
    const filledAt = startsAt + past.quoteSeconds + past.fillSeconds
    const received = receivedFor(past, order, answerAt(past, filledAt))
    if (order.sells === 'USDC') {
      usdc -= order.amount
      weth += received
    } else {
      weth -= order.amount
      usdc += received
    }
    used.push({ at: filledAt, amount: order.amount })
    lines.push([slot, 'filled', order.amount, received])
  }
  return { lines, usdc, weth }
}

type State = {
  readonly answer: bigint
  readonly slot: number
  readonly usdc: bigint
  readonly weth: bigint
  readonly used: readonly { readonly at: number; readonly amount: bigint }[]
  readonly isArmed: boolean
}

/** An order, or the reason for none, and whether the level may fire from now on. */
function decide(rule: Rule, now: State): { order: Order | string; isArmed: boolean } {
  if (rule.kind === 'above') return watch(rule, now)
  const order = rule.kind === 'dca' ? purchase(rule, now) : balance(rule, now)
  return { order, isArmed: true }
}

/** A slot waits for a cap that frees while the slot may still start, before the next slot is due. */
function whenFree(
  { amount, perDay }: Extract<Rule, { kind: 'dca' }>,
  { slot, used }: Pick<State, 'slot' | 'used'>,
): number {
  const usedAt = (now: number): bigint =>
    used.filter(({ at }) => at > now - DAY).reduce((total, each) => total + each.amount, 0n)
  const ends = used.map(({ at }) => at + DAY).filter((at) => at > slot && at < slot + WAITS_MAX)
  const free = [slot, ...ends].find((at) => usedAt(at) + amount <= perDay)
  return free ?? slot
}

function purchase(
  { amount, perDay }: Extract<Rule, { kind: 'dca' }>,
  { usdc, used, slot }: State,
): Order | string {
  if (usdc < amount) return 'insufficient-balance'
  const lately = used.filter(({ at }) => at > slot - DAY)
  const sum = lately.reduce((total, each) => total + each.amount, 0n)
  return sum + amount > perDay ? 'limit-per-day' : { sells: 'USDC', amount }
}

function watch(
  { level, rearmBps, amount }: Extract<Rule, { kind: 'above' }>,
  { answer, weth, isArmed: wasArmed }: State,
): { order: Order | string; isArmed: boolean } {
  const isArmed = wasArmed || answer * 10_000n <= level * PLACES * (10_000n - rearmBps)
  if (!isArmed || answer < level * PLACES) return { order: 'not-triggered', isArmed }
  if (weth < amount) return { order: 'insufficient-balance', isArmed }
  return { order: { sells: 'WETH', amount }, isArmed: false }
}

function balance(
  { wethBps, bandBps, minTrade }: Extract<Rule, { kind: 'rebalance' }>,
  { answer, usdc, weth }: State,
): Order | string {
  const inWeth = usdcOf(weth, answer)
  const total = inWeth + usdc
  const isOutside = (value: bigint, bps: bigint): boolean => {
    const drift = value * 10_000n - bps * total
    return drift > bandBps * total || -drift > bandBps * total
  }
  if (!isOutside(inWeth, wethBps) && !isOutside(usdc, 10_000n - wethBps)) return 'inside-band'
  const wantedWeth = (total * wethBps) / 10_000n
  const wantedUsdc = (total * (10_000n - wethBps)) / 10_000n
  const sells = inWeth > wantedWeth ? 'WETH' : 'USDC'
  const [surplus, lack] =
    sells === 'WETH'
      ? [inWeth - wantedWeth, wantedUsdc - usdc]
      : [usdc - wantedUsdc, wantedWeth - inWeth]
  const value = surplus < lack ? surplus : lack
  if (value < minTrade) return 'below-minimum'
  return { sells, amount: sells === 'USDC' ? value : wethOf(value, answer) }
}

/** Chain state at a second. */
function answerAt({ rounds }: Reference, seconds: number): bigint {
  let found = 0n
  for (const [at, answer] of rounds) {
    if (at > seconds) break
    found = answer
  }
  return found
}

function usdcOf(weth: bigint, answer: bigint): bigint {
  return (weth * answer * ONE_USDC) / (ONE_WETH * PLACES)
}

function wethOf(usdc: bigint, answer: bigint): bigint {
  return (usdc * ONE_WETH * PLACES) / (answer * ONE_USDC)
}

/** The feed's price less spread, fee and price impact; each step is rounded down. */
function receivedFor(
  { spreadPpm, feePpm, depth }: Reference,
  { sells, amount }: Order,
  answer: bigint,
): bigint {
  const value = sells === 'USDC' ? amount : usdcOf(amount, answer)
  const impactPpm = depth === undefined ? 0n : (value * 10_000n) / depth
  const fair = sells === 'USDC' ? wethOf(amount, answer) : usdcOf(amount, answer)
  return (fair * (1_000_000n - spreadPpm - feePpm - impactPpm)) / 1_000_000n
}
