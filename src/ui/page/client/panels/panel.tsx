import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Command, Empty, Fact, Pill, Unknown } from '../../../parts/elements.tsx'
import { count } from '../../../parts/wording/amounts.ts'
import { outcomeTone, plain } from '../../../parts/wording/outcomes.ts'
import type { StrategyRow, Why } from '../../model.ts'
import { daemon, messageOf } from '../data/daemon-requests.ts'
import { STRATEGY_TONES } from '../parts/labels.ts'
import { Caps, NextSlot } from '../parts/rows.tsx'
import { Ago, Icon, Moment, Said } from '../parts/values.tsx'
import { StopButton } from '../shell/commands.tsx'
import { usePage } from '../shell/context.tsx'
import { type Panel as PanelOf, strategyHash, viewHash, whyHash } from '../shell/route.ts'
import { PriceSection } from './price-section.tsx'
import { Money, StrategyFile, useDetail } from './strategy-detail.tsx'

/** A modal dialog: the browser keeps the focus inside, closes it with Escape, and returns the focus. */
export function Panel({ panel, close }: { panel: PanelOf | undefined; close(): void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const isOpen = panel !== undefined
  useLayoutEffect(() => {
    if (isOpen) dialog.current?.showModal()
    else dialog.current?.close()
  }, [isOpen])
  useLayoutEffect(() => dialog.current?.scrollTo(0, 0), [panel])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: a click beside it closes it, and so does Escape.
    <dialog
      ref={dialog}
      class="panel"
      aria-labelledby="panel-title"
      onCancel={(event) => {
        event.preventDefault()
        close()
      }}
      onClick={(event) => {
        if (event.target === event.currentTarget) close()
      }}
    >
      {panel !== undefined && (
        <div class="panel-inside">
          <button type="button" class="icon-button close" aria-label="Close" onClick={close}>
            <Icon name="close" />
          </button>
          {panel.tag === 'strategy' ? (
            <StrategyPanel key={panel.strategy} name={panel.strategy} />
          ) : (
            <WhyPanel key={`${panel.strategy}:${panel.slotSeconds}`} {...panel} />
          )}
        </div>
      )}
    </dialog>
  )
}

function StrategyPanel({ name }: { name: string }) {
  const { store } = usePage()
  const row = store.strategies.get(name)
  const { detail, problem, choice, choose } = useDetail(name, row)
  if (row === undefined)
    return (
      <>
        <h2 id="panel-title">{name}</h2>
        <Empty>
          {store.overview === undefined
            ? 'Not loaded yet.'
            : 'There is no strategy with that name.'}
        </Empty>
      </>
    )
  const limits = store.overview?.limits.filter(({ strategy }) => strategy === name) ?? []
  const word = row.state === 'paused' ? 'resume' : 'pause'
  return (
    <>
      <p class="above">{row.kind}</p>
      <h2 id="panel-title">{row.name}</h2>
      <p class="does">
        <Said text={row.does} />
      </p>
      <Facts row={row} />
      {detail !== undefined && <Money detail={detail} />}
      {problem !== undefined && <p class="note warn">{problem}</p>}
      {detail !== undefined && detail.chart !== null && (
        <PriceSection chart={detail.chart} {...choice} choose={choose} />
      )}
      {limits.length > 0 && (
        <>
          <h3>Its limits</h3>
          <Caps limits={limits} />
        </>
      )}
      <StopButton command={word} strategy={name} />
      {detail !== undefined && detail.file !== null && <StrategyFile file={detail.file} />}
      <p class="foot">
        In a terminal:{' '}
        <Command>
          tranched {word} {name}
        </Command>
        , <Command>tranched plan {name}</Command>
      </p>
    </>
  )
}

function Facts({ row }: { row: StrategyRow }) {
  const { name, state, paused, waits, lastSlot, lastSkip, lastFillAtMs } = row
  return (
    <dl class="facts wide">
      <Fact name="State">
        <Pill tone={STRATEGY_TONES[state]}>{state}</Pill>
        {paused !== null && (
          <p>
            Since <Moment atMs={paused.sinceMs} zone />, {plain(paused.cause)}:{' '}
            <Said text={paused.detail} />
          </p>
        )}
        {waits !== null && (
          <p>
            Waits: <Said text={waits} />
          </p>
        )}
      </Fact>
      <Fact name="Schedule">{row.schedule}</Fact>
      <Fact name="Next slot">
        <NextSlot row={row} />
      </Fact>
      <Fact name="Last slot">
        {lastSlot === null ? (
          <Unknown>none yet</Unknown>
        ) : (
          <>
            <Pill tone={outcomeTone(lastSlot.outcome)}>{lastSlot.outcome}</Pill>{' '}
            <SlotReason name={name} {...lastSlot} />
          </>
        )}
      </Fact>
      {lastSkip !== null && (
        <Fact name="Last skip">
          <SlotReason name={name} {...lastSkip} />
        </Fact>
      )}
      <Fact name="Fills">
        {count(row.fills)}
        {lastFillAtMs !== null && (
          <>
            , the last <Ago atMs={lastFillAtMs} />
          </>
        )}{' '}
        {row.fills > 0 && <a href={viewHash('fills', name)}>show them</a>}
      </Fact>
    </dl>
  )
}

function SlotReason(
  props: { name: string } & Omit<NonNullable<StrategyRow['lastSlot']>, 'outcome'>,
) {
  const { name, slotSeconds, reason, detail } = props
  return (
    <>
      {reason !== null && plain(reason)}{' '}
      <a href={whyHash(name, slotSeconds)}>
        why, at <Moment atMs={slotSeconds * 1_000} />
      </a>
      {detail !== null && (
        <p>
          <Said text={detail} nearMs={slotSeconds * 1_000} />
        </p>
      )}
    </>
  )
}

type Slot = { readonly strategy: string; readonly slotSeconds: number }

function WhyPanel({ strategy, slotSeconds }: Slot) {
  const { calendar, store } = usePage()
  const [why, setWhy] = useState<Why>()
  const [problem, setProblem] = useState<string>()
  const row = store.strategies.get(strategy)
  // Reloads whenever the strategy's row changes, because an open slot continues while it is shown.
  useEffect(() => {
    let isWanted = true
    daemon.why(strategy, slotSeconds).then(
      (answer) => {
        if (!isWanted) return
        setWhy(answer)
        setProblem(undefined)
      },
      (error: unknown) => {
        if (isWanted) setProblem(messageOf(error))
      },
    )
    return () => {
      isWanted = false
    }
  }, [strategy, slotSeconds, row])
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
      {why?.whole === false && (
        <p class="note warn">
          This is incomplete: older files of the journal were not searched, or are gone.
        </p>
      )}
      {why !== undefined && <Timeline lines={why.lines} />}
      <p class="foot">
        The same in a terminal:{' '}
        <Command>
          tranched why {strategy}:{slotSeconds}
        </Command>
      </p>
    </>
  )
}

function Timeline({ lines }: Pick<Why, 'lines'>) {
  return (
    <ol class="story">
      {lines.map(({ atMs, title, sentences, facts }, index) => (
        // The journal is append-only, so a line's index is its key.
        <li key={index}>
          <p class="event">
            <strong>
              <Said text={title} nearMs={atMs} />
            </strong>{' '}
            <Moment atMs={atMs} />
          </p>
          {sentences.map((text, at) => (
            <p class="sentence" key={at}>
              <Said text={text} nearMs={atMs} />
            </p>
          ))}
          {facts.length > 0 && <Record facts={facts} />}
        </li>
      ))}
    </ol>
  )
}

function Record({ facts }: Pick<Why['lines'][number], 'facts'>) {
  return (
    <details class="more-facts">
      <summary>the record: {facts.length === 1 ? '1 field' : `${facts.length} fields`}</summary>
      <dl class="facts-of-line">
        {facts.map(([name, value], at) => (
          // Two fields may have the same name.
          <div key={at}>
            <dt class="muted">{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </details>
  )
}
