import { useEffect, useMemo, useState } from 'preact/hooks'
import { Select } from '../../../parts/choices.tsx'
import { Amount, Empty, Fact, Unknown } from '../../../parts/elements.tsx'
import { type Mark, MarkEntries, marksOn } from '../../../parts/marks.tsx'
import {
  chartNumber,
  count,
  plainPercent,
  shortAmount,
  signedMoney,
} from '../../../parts/wording/amounts.ts'
import type {
  FillRow,
  HoldingsRange,
  PriceChart,
  StrategyDetail,
  StrategyRow,
} from '../../model.ts'
import { Chart } from '../chart/chart.tsx'
import { RangeChoice } from '../chart/holdings-chart.tsx'
import { daemon, messageOf } from '../data/daemon-requests.ts'
import { fillText, webAddress } from '../parts/labels.ts'
import { usePage } from '../shell/context.tsx'
import { themeInEffect } from '../shell/header.tsx'

const RELOAD_MS = 60_000

type Choice = { readonly range: HoldingsRange; readonly pair?: string }

/** Loads the detail while it is shown: again each minute, and whenever a slot has ended. */
export function useDetail(name: string, row: StrategyRow | undefined) {
  const { store } = usePage()
  const [choice, setChoice] = useState<Choice>({ range: 'day' })
  const [detail, setDetail] = useState<StrategyDetail>()
  const [problem, setProblem] = useState<string>()
  const live = store.link.tag === 'live'
  const isThere = row !== undefined
  const end = `${row?.lastSlot?.slotSeconds} ${row?.lastSlot?.outcome} ${row?.fills}`
  useEffect(() => {
    let isWanted = true
    async function load(): Promise<void> {
      try {
        const answer = await daemon.strategy({ name, ...choice })
        if (!isWanted) return
        setDetail(answer)
        setProblem(undefined)
      } catch (error) {
        if (isWanted) setProblem(messageOf(error))
      }
    }
    if (!live || !isThere) return
    void load()
    const timer = setInterval(() => {
      if (!document.hidden) void load()
    }, RELOAD_MS)
    return () => {
      isWanted = false
      clearInterval(timer)
    }
  }, [name, choice, end, live, isThere])
  const choose = (part: Partial<Choice>): void => setChoice({ ...choice, ...part })
  return { detail, problem, choice, choose }
}

/** What it earned and traded, or for a call strategy what it calls. */
export function Money({ detail }: { detail: StrategyDetail }) {
  const { profit, traded, held, call } = detail
  if (call !== null) return <CallFacts call={call} />
  return (
    <dl class="facts wide money">
      <Fact name="Profit">
        {profit === null ? (
          <Unknown />
        ) : (
          <>
            {signedMoney(profit.realised.amount)} {profit.realised.token} realised
            {profit.unrealised !== null && (
              <>
                , {signedMoney(profit.unrealised.amount)} {profit.unrealised.token} unrealised
              </>
            )}
          </>
        )}
      </Fact>
      {held !== null && (
        <Fact name="Bought and held">
          <Amount {...held.amount} />
          {held.price !== null && (
            <>
              , average entry {shortAmount(held.price)} {held.cost.token} per {held.amount.token}
            </>
          )}
        </Fact>
      )}
      {traded.length > 0 && (
        <Fact name="Volume">
          {traded.map(({ fills, sold, bought, price }) => (
            <p key={`${sold.token} ${bought.token}`}>
              {count(fills)} {fills === 1 ? 'fill' : 'fills'}: <Amount {...sold} /> for{' '}
              <Amount {...bought} />
              {price !== null && `, on average ${priceText(price, sold.token, bought.token)}`}
            </p>
          ))}
        </Fact>
      )}
    </dl>
  )
}

/** Not below one, so that both directions of a pair read alike. */
function priceText(price: string, paid: string, per: string): string {
  const number = Number(price)
  if (number >= 1 || number <= 0) return `${shortAmount(price)} ${paid} per ${per}`
  return `${chartNumber(1 / number)} ${per} per ${paid}`
}

function CallFacts({ call }: { call: NonNullable<StrategyDetail['call']> }) {
  const { target, explorerUrl, value, charge, calls } = call
  const href = webAddress(explorerUrl)
  return (
    <dl class="facts wide money">
      <Fact name="Target">
        {href === undefined ? (
          <code class="hash">{target}</code>
        ) : (
          <a class="hash" href={href} target="_blank" rel="noreferrer">
            {target}
          </a>
        )}
      </Fact>
      <Fact name="Function">
        <code>{call.function}</code>
      </Fact>
      <Fact name="Value per call">
        <Amount {...value} />
      </Fact>
      <Fact name="Charge per call">
        {charge === null ? (
          <Unknown>no call of the last 30 days has a known charge</Unknown>
        ) : (
          <>
            <Amount {...charge} />, average of {count(calls)} {calls === 1 ? 'call' : 'calls'} in
            the last 30 days
          </>
        )}
      </Fact>
    </dl>
  )
}

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
      Next trigger: <strong>{level.name}</strong>, at {chartNumber(level.price)} {unit},{' '}
      {awayText(level.awayPercent)}
    </p>
  )
}

function awayText(percent: number | null): string {
  if (percent === null) return 'at an unknown distance'
  if (Math.abs(percent) < 0.005) return 'at the price now'
  return `${plainPercent(Math.abs(percent))} ${percent > 0 ? 'above' : 'below'} the price now`
}

const KINDS: Readonly<Record<PriceChart['levels'][number]['kind'], string>> = {
  trade: 'trades there',
  ready: 'gets ready there',
  bound: 'trades only up to there',
}

function Levels({ chart: { levels }, unit }: OfChart) {
  if (levels.length === 0) return null
  return (
    <ul class="levels" aria-label="Levels">
      {levels.map(({ name, price, kind, awayPercent }) => (
        <li key={name} class={`level ${kind}`}>
          <span class="name">{name}</span>{' '}
          <span class="muted">
            {chartNumber(price)} {unit}, {awayText(awayPercent)}; {KINDS[kind]}
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
                {isOutside && ': outside, so its next slot trades'}
              </span>
            </li>
          )
        })}
      </ul>
    </>
  )
}

/** The file's text, with a caret under each problem. */
export function StrategyFile({ file }: { file: NonNullable<StrategyDetail['file']> }) {
  const { name, text, isCut, differs, problems } = file
  const lines = useMemo(() => text?.split('\n') ?? [], [text])
  const isRefused = problems.length > 0
  return (
    <section aria-label="File">
      <h3>File {name}</h3>
      {differs && (
        <p class="note warn">
          The file on disk differs from the one that the daemon trades by. A reload takes it over.
        </p>
      )}
      {isRefused && (
        <p class="note bad">
          The file on disk is refused; the daemon still trades by the one that it loaded.
        </p>
      )}
      {problems
        .filter(({ line }) => lines[line - 1] === undefined)
        .map(({ message, expected }) => (
          <p key={message} class="note bad">
            {message}; expected: {expected}
          </p>
        ))}
      {text !== null && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and the keyboard has to reach that.
        <section class="yaml" tabIndex={0} aria-label={`Content of ${name}`}>
          <pre>
            {lines.map((line, at) => (
              // A line's number is its key.
              <span key={at}>
                {line === '' ? ' ' : line}
                {problems
                  .filter((problem) => problem.line === at + 1)
                  .map(({ frame, path, message, expected }) => (
                    <span key={`${path} ${message}`} class="fault">
                      {caretOf(frame)}
                      {'\n'}
                      {path === '' ? '' : `${path}: `}
                      {message}; expected: {expected}
                    </span>
                  ))}
              </span>
            ))}
          </pre>
        </section>
      )}
      {isCut && <p class="small">Only the beginning is shown.</p>}
    </section>
  )
}

/** The last line of a frame, `  | ^^^`, without its gutter. */
function caretOf(frame: string): string {
  return (
    frame
      .split('\n')
      .at(-1)
      ?.replace(/^ *\| /, '') ?? ''
  )
}
