import { briefDecimal } from '../../../domain/units.ts'
import type { AmountData } from '../../json/shapes.ts'

const BARS = '▁▂▃▄▅▆▇█'
/** For what was not known. */
const GAP = ' '

type Sample = { readonly at: string; readonly value: AmountData | null }

/** A small chart of values over time with its ends below it; no lines for fewer than two values. */
export function sparkline(samples: readonly Sample[], columns: number): readonly string[] {
  const known = samples.filter(({ value }) => value !== null)
  const [first] = samples
  const last = samples.at(-1)
  if (known.length < 2 || first === undefined || last === undefined) return []
  const values = known.map(({ value }) => figureOf(value))
  const [low, high] = [Math.min(...values), Math.max(...values)]
  const [fromMs, untilMs] = [Date.parse(first.at), Date.parse(last.at)]
  const slots: (number | undefined)[] = new Array(columns).fill(undefined)
  for (const { at, value } of known) {
    const share = untilMs === fromMs ? 0 : (Date.parse(at) - fromMs) / (untilMs - fromMs)
    slots[Math.min(columns - 1, Math.floor(share * columns))] = figureOf(value)
  }
  const bars = slots.map((value) => (value === undefined ? GAP : barOf(value, { low, high })))
  const days = `${first.at.slice(0, 10)}${' '.repeat(Math.max(1, columns - 20))}${last.at.slice(0, 10)}`
  return [
    bars.join(''),
    days,
    `lowest ${briefDecimal(`${low}`)}, highest ${briefDecimal(`${high}`)}`,
  ]
}

function figureOf(value: AmountData | null): number {
  return Number.parseFloat(value?.amount ?? '')
}

function barOf(
  value: number,
  { low, high }: { readonly low: number; readonly high: number },
): string {
  const share = high === low ? 0.5 : (value - low) / (high - low)
  return BARS[Math.min(BARS.length - 1, Math.floor(share * BARS.length))] ?? GAP
}
