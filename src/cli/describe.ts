import { basename } from 'node:path'
import { assertNever } from '../domain/errors.ts'
import type { Schedule } from '../domain/schedule/schedule.ts'
import type { RebalanceTarget, Strategy } from '../domain/strategy.ts'
import type { Asset } from '../domain/token.ts'
import { formatAmount } from '../domain/units.ts'

/** Strategies, schedules and times in words, for log lines and commands. */

/** When a strategy's slots come up, in the words of its file. */
export function describeSchedule(schedule: Schedule): string {
  if (schedule.type === 'cron') return `"${schedule.cron}" ${schedule.timezone}`
  const { count, everySeconds } = schedule
  return `${count} slices every ${durationText(everySeconds * 1000)}`
}

/** One line on what a strategy does per slot. */
export function describeStrategy(strategy: Strategy): string {
  switch (strategy.kind) {
    case 'call':
      return `call ${strategy.label} of ${strategy.target}`
    case 'dca': {
      const { sell, buy, size } = strategy
      const sold = size.side === 'sell' ? `${amountText(size.amount, sell)} ` : ''
      const bought = size.side === 'buy' ? `${amountText(size.amount, buy)} ` : ''
      return `dca ${sold}${nameOf(sell)} -> ${bought}${nameOf(buy)}`
    }
    case 'twap': {
      const { sell, buy, total } = strategy
      return `twap ${amountText(total, sell)} ${nameOf(sell)} -> ${nameOf(buy)}`
    }
    case 'threshold': {
      const { sell, buy, watch, rungs, entryOf } = strategy
      const lines = rungs.map(({ id }) => id).join(', ')
      const when = entryOf === undefined ? 'is' : `is, from the entry of ${entryOf},`
      return `threshold ${nameOf(sell)} -> ${nameOf(buy)} when ${watch.pair} ${when} ${lines}`
    }
    case 'rebalance':
      return `rebalance ${strategy.targets.map(weightText).join(', ')}`
    case 'custom':
      return `custom ${basename(strategy.module)} with ${[...strategy.assets.keys()].join(', ')}`
    default:
      return assertNever(strategy)
  }
}

function weightText({ token, weightBps }: RebalanceTarget): string {
  return `${weightBps / 100}% ${token.symbol}`
}

function amountText(amount: bigint, { token }: Asset): string {
  return formatAmount(amount, token.decimals)
}

/** ETH where the strategy says so, the token's symbol elsewhere. */
function nameOf(asset: Asset): string {
  return asset.native ? 'ETH' : asset.token.symbol
}

/** A duration in its two largest units, e.g. `2d 10h`, `3m 5s`, `4s`. */
export function durationText(ms: number): string {
  let rest = Math.max(0, Math.round(ms / 1000))
  const parts: string[] = []
  for (const [unit, size] of [
    ['d', 86_400],
    ['h', 3_600],
    ['m', 60],
    ['s', 1],
  ] as const) {
    const count = Math.floor(rest / size)
    rest -= count * size
    if (count > 0 && parts.length < 2) parts.push(`${count}${unit}`)
  }
  return parts.join(' ') || '0s'
}

/** A moment for people: UTC, whole seconds. */
export function instantText(epochSeconds: number): string {
  return new Date(epochSeconds * 1000).toISOString().replace('.000', '')
}

const TEN_YEARS_SECONDS = 3_653 * 86_400

/** How long something lasts: nobody needs to know more exactly what lasts for decades. */
export function lastingText(seconds: number): string {
  return seconds > TEN_YEARS_SECONDS ? 'for over ten years' : durationText(seconds * 1000)
}

/** A moment in a time zone, to the minute or the second, e.g. `Mon 23 Nov 2026 09:00 Europe/Berlin`. */
export function localText(
  epochSeconds: number,
  { timeZone, to }: { readonly timeZone: string; readonly to: 'minute' | 'second' },
): string {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    weekday: 'short',
    day: '2-digit',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
  })
  const parts = new Map(
    format.formatToParts(epochSeconds * 1000).map(({ type, value }) => [type, value]),
  )
  const of = (type: Intl.DateTimeFormatPartTypes): string => parts.get(type) ?? ''
  const seconds = to === 'minute' ? '' : `:${of('second')}`
  const day = `${of('weekday')} ${of('day')} ${of('month')} ${of('year')}`
  return `${day} ${of('hour')}:${of('minute')}${seconds} ${timeZone}`
}
