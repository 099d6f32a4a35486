import { count } from '../../../page-parts/words/amounts.ts'
import { outcomeTone, plain } from '../../../page-parts/words/outcomes.ts'
import type { LimitRow, StrategyRow } from '../../model.ts'
import { Caps } from '../parts/caps.tsx'
import { Empty } from '../parts/card.tsx'
import { Ago, Command, Moment, Pill, Unknown, Until } from '../parts/words.tsx'
import { viewHash, whyHash } from '../route.ts'
import { usePage } from '../shell/page-context.ts'
import { strategyTone } from '../words/phrases.ts'

/** One strategy with nothing cut off. */
export function StrategyPanel({ name }: { name: string }) {
  const { store } = usePage()
  const row = store.strategies.get(name)
  if (row === undefined)
    return (
      <>
        <h2 id="panel-title">{name}</h2>
        <Empty>
          {store.overview === undefined
            ? 'Nothing is known yet.'
            : 'There is no strategy of that name.'}
        </Empty>
      </>
    )
  const limits = store.overview?.limits.filter(({ strategy }) => strategy === name) ?? []
  return (
    <>
      <p class="above">{row.kind}</p>
      <h2 id="panel-title">{row.name}</h2>
      <p class="does">{row.does}</p>
      <dl class="facts wide">
        <StateFact row={row} />
        <div>
          <dt>Schedule</dt>
          <dd>{row.schedule}</dd>
        </div>
        <NextFact row={row} />
        <SlotFact row={row} />
        <SkipFact row={row} />
        <div>
          <dt>Fills</dt>
          <dd>
            {count(row.fills)}
            {row.lastFillAtMs !== null && (
              <>
                , the last <Ago atMs={row.lastFillAtMs} />
              </>
            )}{' '}
            {row.fills > 0 && <a href={viewHash('fills', name)}>show them</a>}
          </dd>
        </div>
      </dl>
      <LimitsOf limits={limits} />
      <p class="foot">
        In a terminal: <Word row={row} />, <Command>tranched plan {name}</Command>
      </p>
    </>
  )
}

function Word({ row: { name, state } }: { row: StrategyRow }) {
  return (
    <Command>{state === 'paused' ? `tranched resume ${name}` : `tranched pause ${name}`}</Command>
  )
}

function StateFact({ row: { state, paused, waits } }: { row: StrategyRow }) {
  return (
    <div>
      <dt>State</dt>
      <dd>
        <Pill tone={strategyTone(state)}>{state}</Pill>
        {paused !== null && (
          <p>
            Since <Moment atMs={paused.sinceMs} zone />, {plain(paused.cause)}: {paused.detail}
          </p>
        )}
        {waits !== null && <p>Waits: {waits}</p>}
      </dd>
    </div>
  )
}

function NextFact({ row: { nextSlotSeconds } }: { row: StrategyRow }) {
  return (
    <div>
      <dt>Next slot</dt>
      <dd>
        {nextSlotSeconds === null ? (
          <Unknown>none</Unknown>
        ) : (
          <>
            <Until atMs={nextSlotSeconds * 1_000} />, <Moment atMs={nextSlotSeconds * 1_000} zone />
          </>
        )}
      </dd>
    </div>
  )
}

function SlotFact({ row: { name, lastSlot } }: { row: StrategyRow }) {
  return (
    <div>
      <dt>Last slot</dt>
      <dd>
        {lastSlot === null ? (
          <Unknown>none yet</Unknown>
        ) : (
          <>
            <Pill tone={outcomeTone(lastSlot.outcome)}>{lastSlot.outcome}</Pill>{' '}
            {lastSlot.reason !== null && plain(lastSlot.reason)}{' '}
            <a href={whyHash(name, lastSlot.slotSeconds)}>
              why, at <Moment atMs={lastSlot.slotSeconds * 1_000} />
            </a>
            {lastSlot.detail !== null && <p>{lastSlot.detail}</p>}
          </>
        )}
      </dd>
    </div>
  )
}

function SkipFact({ row: { name, lastSkip } }: { row: StrategyRow }) {
  if (lastSkip === null) return null
  return (
    <div>
      <dt>Last skip</dt>
      <dd>
        {plain(lastSkip.reason)}{' '}
        <a href={whyHash(name, lastSkip.slotSeconds)}>
          why, at <Moment atMs={lastSkip.slotSeconds * 1_000} />
        </a>
        {lastSkip.detail !== null && <p>{lastSkip.detail}</p>}
      </dd>
    </div>
  )
}

function LimitsOf({ limits }: { limits: readonly LimitRow[] }) {
  if (limits.length === 0) return null
  return (
    <>
      <h3>Its limits</h3>
      <Caps limits={limits} />
    </>
  )
}
