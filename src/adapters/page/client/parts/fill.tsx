import { basisPoints } from '../../../page-parts/words/amounts.ts'
import type { FillRow } from '../../model.ts'
import { whyHash } from '../route.ts'
import { Amount, OnChain, Pill, Unknown } from './words.tsx'

/** What a row of a fill is made of, wherever it stands. */

type Of = { readonly fill: FillRow }

export function Moved({ fill: { sold, bought, call } }: Of) {
  if (sold === null || bought === null)
    return (
      <span class="line" title={call ?? undefined}>
        {call === null ? <Unknown /> : <>called {call}</>}
      </span>
    )
  return (
    <span class="line moved">
      <Amount of={sold} /> <span class="arrow">for</span> <Amount of={bought} />
    </span>
  )
}

/** Against the feed: the sign says it, colour only repeats it. */
export function AgainstFeed({ fill: { vsFeedBps } }: Of) {
  if (vsFeedBps === null) return <Unknown>no feed</Unknown>
  const side = vsFeedBps < 0 ? 'worse' : 'better'
  return (
    <span
      class={`bps ${vsFeedBps === 0 ? '' : side}`}
      title={`${Math.abs(vsFeedBps)} basis points ${side} than the feed`}
    >
      {basisPoints(vsFeedBps)}
    </span>
  )
}

export function Marks({ fill: { paper, undone } }: Of) {
  return (
    <>
      {undone && <Pill tone="bad">undone</Pill>}
      {paper && <Pill tone="quiet">paper</Pill>}
    </>
  )
}

export function Proof({ fill: { txHash, explorerUrl, paper } }: Of) {
  if (txHash === null) return <Unknown>{paper ? 'booked at its quote' : 'no transaction'}</Unknown>
  return <OnChain hash={txHash} url={explorerUrl} what="Transaction" />
}

export function WhyLink({ fill: { strategy, slotSeconds } }: Of) {
  return (
    <a href={whyHash(strategy, slotSeconds)}>
      why<span class="unseen"> {strategy} did this</span>
    </a>
  )
}
