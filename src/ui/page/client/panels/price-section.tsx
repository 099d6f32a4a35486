import { useMemo } from 'preact/hooks'
import { Select } from '../../../parts/choices.tsx'
import { Empty } from '../../../parts/elements.tsx'
import { type Mark, MarkEntries, marksOn } from '../../../parts/marks.tsx'
import { chartNumber, plainPercent } from '../../../parts/wording/amounts.ts'
import type { FillRow, HoldingsRange, PriceChart } from '../../model.ts'
import { Chart } from '../chart/chart.tsx'
import { RangeChoice } from '../chart/holdings-chart.tsx'
import { fillText } from '../parts/labels.ts'
import { usePage } from '../shell/context.tsx'
import { themeInEffect } from '../shell/header.tsx'

export type Choice = { readonly range: HoldingsRange; readonly pair?: string }

export function PriceSection(
  props: Choice & { chart: PriceChart; choose(part: Partial<Choice>): void },
) {
  const { store } = usePage()
  const { chart, choose } = props
  const { pair, pairs, atSeconds, prices: values, levels, fills } = chart
  const unit = pair.split('/')[1] ?? ''
  const course = useMemo(
    () => ({ name: `Price of ${pair}`, unit, atSeconds, values }),
    [pair, unit, atSeconds, values],
  )
  const marks = useMemo(() => marksOf(pair, fills), [pair, fills])
  return (
    <section class="price-section" aria-label="Price">
      <h3>Price of {pair}</h3>
      <NextTrigger chart={chart} unit={unit} />
      <div class="chart-choices">
        <RangeChoice
          group="range-strategy"
          range={props.range}
          choose={(range) => choose({ range })}
        />
        {pairs.length > 1 && (
          <Select
            title="Pair"
            options={pairs.map((one) => [one, one] as const)}
            value={pair}
            choose={(to) => choose({ pair: to })}
          />
        )}
      </div>
      {values.length === 0 ? (
        <Empty>No price of this period is known yet. Decisions and readings record them.</Empty>
      ) : (
        <Chart
          course={course}
          look={`${themeInEffect()} ${store.link.tag}`}
          marks={marks}
          textOf={({ index }) => fillTextAt(fills, index)}
          levels={levels}
        />
      )}
      {marks.length > 0 && (
        <ul class="legend" aria-label="Fills in the chart">
          <MarkEntries marks={marks} />
        </ul>
      )}
      {!chart.whole && (
        <p class="note warn">
          The journal was not searched to the start of this period: older prices and fills are
          missing.
        </p>
      )}
      <Levels chart={chart} unit={unit} />
      <Weights weights={chart.weights} />
    </section>
  )
}

function fillTextAt(fills: readonly FillRow[], index: number): string {
  const fill = fills[index]
  return fill === undefined ? '' : fillText(fill)
}

/** Undone fills did not happen. */
function marksOf(pair: string, fills: readonly FillRow[]): readonly Mark[] {
  const traded = fills.flatMap(({ atMs, sold, bought, undone }, index) =>
    sold === null || bought === null || undone
      ? []
      : [
          {
            ...{ atSeconds: atMs / 1_000, paid: sold, received: bought, index },
            price: Number(sold.amount) / Number(bought.amount),
          },
        ],
  )
  return marksOn(pair, traded).map((mark) => ({ ...mark, index: traded[mark.index]?.index ?? 0 }))
}

type OfChart = { readonly chart: PriceChart; readonly unit: string }

function NextTrigger({ chart: { levels, next }, unit }: OfChart) {
  const level = levels[next ?? -1]
  if (level === undefined) return null
  return (
    <p class="next-trigger">
      {level.isReached ? 'Reached' : 'Next trigger'}: <strong>{level.name}</strong>, at{' '}
      {chartNumber(level.price)} {unit}, {level.isReached ? AT_ONCE : awayText(level.awayPercent)}
    </p>
  )
}

function awayText(percent: number | null): string {
  if (percent === null) return 'at an unknown distance'
  if (Math.abs(percent) < 0.005) return 'at the last price'
  return `${plainPercent(Math.abs(percent))} ${percent > 0 ? 'above' : 'below'} the last price`
}

const AT_ONCE = 'trades at its next slot'

const KINDS: Readonly<Record<PriceChart['levels'][number]['kind'], string>> = {
  trade: 'trades there',
  ready: 'gets ready there',
  bound: 'no trade beyond it',
}

function Levels({ chart: { levels }, unit }: OfChart) {
  if (levels.length === 0) return null
  return (
    <ul class="levels" aria-label="Levels">
      {levels.map(({ name, price, kind, awayPercent, isReached }) => (
        <li key={name} class={`level ${kind}`}>
          <span class="name">{name}</span>{' '}
          <span class="muted">
            {chartNumber(price)} {unit}, {awayText(awayPercent)};{' '}
            {isReached ? `reached, ${AT_ONCE}` : KINDS[kind]}
          </span>
        </li>
      ))}
    </ul>
  )
}

function Weights({ weights }: Pick<PriceChart, 'weights'>) {
  if (weights.length === 0) return null
  return (
    <>
      <h3>Weights</h3>
      <ul class="levels" aria-label="Weights">
        {weights.map(({ token, target, band, now }) => {
          const isOutside = now !== null && Math.abs(now - target) > band
          return (
            <li key={token}>
              <span class="name">{token}</span>{' '}
              <span class="muted">
                {now === null ? 'not known' : plainPercent(now)} now, target {plainPercent(target)},
                band {plainPercent(Math.max(0, target - band))} to{' '}
                {plainPercent(Math.min(100, target + band))}
                {isOutside && ': outside its band'}
              </span>
            </li>
          )
        })}
      </ul>
    </>
  )
}
