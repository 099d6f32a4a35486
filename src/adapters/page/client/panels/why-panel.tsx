import { useEffect, useState } from 'preact/hooks'
import type { Why } from '../../model.ts'
import { daemon } from '../data/asking.ts'
import { sentenceOf } from '../data/store.ts'
import { Empty } from '../parts/card.tsx'
import { Command, Moment } from '../parts/words.tsx'
import { strategyHash } from '../route.ts'
import { usePage } from '../shell/page-context.ts'

/** Everything the journal holds about one slot, oldest first. */
export function WhyPanel({ strategy, slotSeconds }: { strategy: string; slotSeconds: number }) {
  const { calendar } = usePage()
  const { why, problem } = useWhy(strategy, slotSeconds)
  return (
    <>
      <p class="above">
        <a href={strategyHash(strategy)}>{strategy}</a>
      </p>
      <h2 id="panel-title">
        Slot of{' '}
        <time dateTime={new Date(slotSeconds * 1_000).toISOString()}>
          {calendar.full(slotSeconds * 1_000)}
        </time>
      </h2>
      {problem !== undefined && <p class="note warn">{problem}</p>}
      {why === undefined && problem === undefined && <Empty>Reading the journal.</Empty>}
      {why !== undefined && <Lines why={why} />}
      <p class="foot">
        The same in a terminal:{' '}
        <Command>
          tranched why {strategy}:{slotSeconds}
        </Command>
      </p>
    </>
  )
}

function Lines({ why: { lines, whole } }: { why: Why }) {
  return (
    <>
      {!whole && (
        <p class="note warn">
          This is not all: older files of the journal were not searched, or are not here any more.
        </p>
      )}
      <ol class="story">
        {lines.map(({ atMs, title, sentences, facts }, index) => (
          // The journal is only ever added to: a line's number is its name.
          <li key={index}>
            <p class="told">
              <strong>{title}</strong> <Moment atMs={atMs} />
            </p>
            {sentences.map((text, at) => (
              <p class="sentence" key={at}>
                {text}
              </p>
            ))}
            <Facts facts={facts} />
          </li>
        ))}
      </ol>
    </>
  )
}

type FactsOf = { readonly facts: Why['lines'][number]['facts'] }

/** The record itself, for whoever wants to see it. */
function Facts({ facts }: FactsOf) {
  if (facts.length === 0) return null
  return (
    <details class="more-facts">
      <summary>
        {facts.length === 1 ? 'the record: 1 field' : `the record: ${facts.length} fields`}
      </summary>
      <FactList facts={facts} />
    </details>
  )
}

function FactList({ facts }: FactsOf) {
  return (
    <dl class="facts-of-line">
      {facts.map(([name, value], at) => (
        // Two facts may have one name.
        <div key={at}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

/** Asked again whenever the strategy's row changes: a slot that is open goes on while it is looked at. */
function useWhy(strategy: string, slotSeconds: number) {
  const { store } = usePage()
  const [why, setWhy] = useState<Why>()
  const [problem, setProblem] = useState<string>()
  const row = store.strategies.get(strategy)
  useEffect(() => {
    let isWanted = true
    daemon.why(strategy, slotSeconds).then(
      (answer) => {
        if (!isWanted) return
        setWhy(answer)
        setProblem(undefined)
      },
      (error: unknown) => {
        if (isWanted) setProblem(sentenceOf(error))
      },
    )
    return () => {
      isWanted = false
    }
  }, [strategy, slotSeconds, row])
  return { why, problem }
}
