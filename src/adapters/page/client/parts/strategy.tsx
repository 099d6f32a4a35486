import { outcomeTone, plain } from '../../../page-parts/words/outcomes.ts'
import type { StrategyRow } from '../../model.ts'
import { strategyHash, whyHash } from '../route.ts'
import { strategyTone } from '../words/phrases.ts'
import { Ago, Moment, Pill, Unknown, Until } from './words.tsx'

/** What a row of a strategy is made of, wherever it stands. */

type Of = { readonly row: StrategyRow }

export function StrategyName({ row }: Of) {
  return (
    <>
      <a class="line strong" href={strategyHash(row.name)} title={row.name}>
        {row.name}
      </a>
      <span class="line small">{row.kind}</span>
    </>
  )
}

export function State({ row }: Of) {
  const { state, paused, waits } = row
  const why = paused === null ? waits : plain(paused.cause)
  return (
    <>
      <span class="line">
        <Pill tone={state === 'active' && waits !== null ? 'warn' : strategyTone(state)}>
          {state === 'active' && waits !== null ? 'waits' : state}
        </Pill>
      </span>
      {why !== null && (
        <span class="line small" title={paused === null ? why : `${why}: ${paused.detail}`}>
          {why}
        </span>
      )}
    </>
  )
}

/** A countdown, and the moment in the reader's zone. */
export function NextSlot({ row: { nextSlotSeconds, waits } }: Of) {
  if (nextSlotSeconds === null) return <Unknown>none</Unknown>
  const atMs = nextSlotSeconds * 1_000
  return (
    <>
      <span class="line">
        <Until atMs={atMs} over={waits === null ? 'due now' : 'due, waits'} />
      </span>
      <span class="line small">
        <Moment atMs={atMs} zone />
      </span>
    </>
  )
}

export function LastSlot({ row: { name, lastSlot } }: Of) {
  if (lastSlot === null) return <Unknown>none yet</Unknown>
  const { slotSeconds, outcome, reason, detail } = lastSlot
  return (
    <a class="plain" href={whyHash(name, slotSeconds)} title={detail ?? undefined}>
      <span class="line">
        <Pill tone={outcomeTone(outcome)}>{outcome}</Pill>
      </span>
      <span class="line small">
        {reason === null ? <Ago atMs={slotSeconds * 1_000} /> : plain(reason)}
      </span>
      <span class="unseen"> why the slot of {name} ended so</span>
    </a>
  )
}

export function LastSkip({ row: { name, lastSkip } }: Of) {
  if (lastSkip === null) return <Unknown>never</Unknown>
  const { slotSeconds, reason, detail } = lastSkip
  return (
    <a class="plain" href={whyHash(name, slotSeconds)} title={detail ?? undefined}>
      <span class="line">{plain(reason)}</span>
      <span class="line small">
        <Ago atMs={slotSeconds * 1_000} />
      </span>
      <span class="unseen"> why a slot of {name} was skipped</span>
    </a>
  )
}
