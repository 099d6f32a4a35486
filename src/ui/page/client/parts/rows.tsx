import type { ComponentChildren } from 'preact'
import { Amount, Pill, Unknown } from '../../../parts/elements.tsx'
import {
  basisPoints,
  exactText,
  fullAmount,
  shareText,
  shortAmount,
} from '../../../parts/wording/amounts.ts'
import { outcomeTone, plain } from '../../../parts/wording/outcomes.ts'
import { lateText } from '../../../parts/wording/times.ts'
import type { FillRow, LimitRow, StrategyRow } from '../../model.ts'
import type { Store } from '../data/store.ts'
import { useNow, usePage } from '../shell/context.tsx'
import { strategyHash, whyHash } from '../shell/route.ts'
import { STRATEGY_TONES, shareTone, WINDOWS } from './labels.ts'
import { Ago, Meter, Moment, OnChain, Said, Until } from './values.tsx'

export function TwoLines(props: {
  first: ComponentChildren
  title?: string | undefined
  second?: ComponentChildren
  secondTitle?: string
}) {
  return (
    <>
      <span class="line" title={props.title}>
        {props.first}
      </span>
      {props.second !== undefined && (
        <span class="line small" title={props.secondTitle}>
          {props.second}
        </span>
      )}
    </>
  )
}

export function StrategyLink({ name, title = name }: { name: string; title?: string }) {
  return (
    <a class="line strong" href={strategyHash(name)} title={title}>
      {name}
    </a>
  )
}

type OfStrategy = { readonly row: StrategyRow }

export function StrategyName({ row: { name, kind } }: OfStrategy) {
  return (
    <>
      <StrategyLink name={name} />
      <span class="line small">{kind}</span>
    </>
  )
}

export function State({ row: { state, paused, waits } }: OfStrategy) {
  const { store } = usePage()
  if (state === 'active' && store.overview?.halted) return <Pill tone="bad">halted</Pill>
  const isWaiting = state === 'active' && waits !== null
  const word = isWaiting ? 'waits' : state
  const pill = <Pill tone={isWaiting ? 'warn' : STRATEGY_TONES[state]}>{word}</Pill>
  if (paused !== null) {
    const cause = plain(paused.cause)
    return <TwoLines first={pill} second={cause} secondTitle={`${cause}: ${paused.detail}`} />
  }
  if (waits === null) return <TwoLines first={pill} />
  return <TwoLines first={pill} second={<Said text={waits} />} secondTitle={waits} />
}

/** A halted, paused or finished strategy is promised no slot. */
export function NextSlot({ row: { state, nextSlotSeconds } }: OfStrategy) {
  const { store } = usePage()
  const now = useNow()
  if (store.overview?.halted) return <Unknown>none while halted</Unknown>
  if (state === 'paused') return <Unknown>none while paused</Unknown>
  if (nextSlotSeconds === null) return <Unknown>none</Unknown>
  const atMs = nextSlotSeconds * 1_000
  const late = now && lateText(atMs, now)
  const left = <Until atMs={atMs} over={late ? `waits, ${late}` : 'due now'} />
  return <TwoLines first={left} second={<Moment atMs={atMs} zone />} />
}

export function LastSlot({ row: { name, lastSlot } }: OfStrategy) {
  if (lastSlot === null) return <Unknown>none yet</Unknown>
  const { slotSeconds, outcome, reason, detail } = lastSlot
  return (
    <a class="plain" href={whyHash(name, slotSeconds)} title={detail ?? undefined}>
      <TwoLines
        first={<Pill tone={outcomeTone(outcome)}>{outcome}</Pill>}
        second={reason === null ? <Ago atMs={slotSeconds * 1_000} /> : plain(reason)}
      />
      <span class="unseen"> why the slot of {name} ended this way</span>
    </a>
  )
}

export function LastSkip({ row: { name, lastSkip } }: OfStrategy) {
  if (lastSkip === null) return <Unknown>never</Unknown>
  const { slotSeconds, reason, detail } = lastSkip
  return (
    <a class="plain" href={whyHash(name, slotSeconds)} title={detail ?? undefined}>
      <TwoLines first={plain(reason)} second={<Ago atMs={slotSeconds * 1_000} />} />
      <span class="unseen"> why a slot of {name} was skipped</span>
    </a>
  )
}

type OfFill = { readonly fill: FillRow }

export function fillKind({ intentId, undone }: FillRow, { fresh }: Pick<Store, 'fresh'>): string {
  return `${undone ? 'undone' : ''} ${fresh.has(intentId) ? 'fresh' : ''}`
}

export function Moved({ fill: { sold, bought, call } }: OfFill) {
  if (sold === null || bought === null)
    return (
      <span class="line" title={call ?? undefined}>
        {call === null ? <Unknown /> : <>called {call}</>}
      </span>
    )
  return (
    <span class="line moved">
      <Amount {...sold} /> <span class="arrow">for</span> <Amount {...bought} />
    </span>
  )
}

/** Fees make a fill slightly worse than the feed: only what passes `limits.maxDeviationBps` is marked. */
export function AgainstFeed({ fill: { vsFeedBps } }: OfFill) {
  const { store } = usePage()
  if (vsFeedBps === null) return <Unknown>no feed</Unknown>
  const side = vsFeedBps < 0 ? 'worse' : 'better'
  const isBad = -vsFeedBps > (store.overview?.maxDeviationBps ?? Number.POSITIVE_INFINITY)
  return (
    <span
      class={`bps ${isBad ? 'worse' : ''}`}
      title={`${Math.abs(vsFeedBps)} basis points ${side} than the feed`}
    >
      {basisPoints(vsFeedBps)}
    </span>
  )
}

export function Marks({ fill: { paper, undone } }: OfFill) {
  return (
    <>
      {undone && <Pill tone="bad">undone</Pill>}
      {paper && <Pill tone="quiet">paper</Pill>}
    </>
  )
}

export function Proof({ fill: { txHash, explorerUrl, paper } }: OfFill) {
  if (txHash === null) return <Unknown>{paper ? 'booked at its quote' : 'no transaction'}</Unknown>
  return <OnChain hash={txHash} url={explorerUrl} what="Transaction" />
}

export function WhyLink({ fill: { strategy, slotSeconds } }: OfFill) {
  return (
    <a href={whyHash(strategy, slotSeconds)}>
      why<span class="unseen"> {strategy} did this</span>
    </a>
  )
}

export function LimitMeter({ limit }: { limit: LimitRow }) {
  const { strategy, token, window, share } = limit
  const label = `${strategy ?? 'Account'}, ${token} ${WINDOWS[window]}`
  return <Meter share={share} tone={shareTone(limit)} label={label} />
}

export function Caps({ limits, named = false }: { limits: readonly LimitRow[]; named?: boolean }) {
  return (
    <ul class="caps">
      {limits.map((limit) => {
        const { strategy, token, window, used, cap, freesAtMs } = limit
        return (
          <li key={limitKey(limit)}>
            {named && (
              <p class="whose">
                {strategy === null ? 'Account' : <a href={strategyHash(strategy)}>{strategy}</a>}
              </p>
            )}
            <p class="used">
              <span title={`${fullAmount(used)} of ${exactText({ amount: cap, token })}`}>
                {shortAmount(used)} of {shortAmount(cap)} <span class="token">{token}</span>
              </span>{' '}
              {WINDOWS[window]}
            </p>
            <p class="strong">{shareText(limit)}</p>
            <LimitMeter limit={limit} />
            {freesAtMs !== null && (
              <p class="small">
                begins to free <Until atMs={freesAtMs} />
              </p>
            )}
          </li>
        )
      })}
    </ul>
  )
}

export function limitKey({ strategy, token, window }: LimitRow): string {
  return `${strategy ?? ''}:${token}:${window}`
}
