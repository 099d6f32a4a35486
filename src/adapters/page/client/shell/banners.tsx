import type { ComponentChildren } from 'preact'
import { count } from '../../../page-parts/words/amounts.ts'
import { plain } from '../../../page-parts/words/outcomes.ts'
import type { Overview } from '../../model.ts'
import { Ago, Command, Moment } from '../parts/words.tsx'
import { usePage } from './page-context.ts'

/** What keeps it from working, and what to do about it. The page itself can change nothing. */
export function Banners() {
  const { store } = usePage()
  const { overview } = store
  return (
    <div class="banners">
      <NotConnected />
      {overview?.halted != null && <Halted halted={overview.halted} />}
      {overview !== undefined && !overview.ready.ok && (
        <NotReady reasons={overview.ready.reasons} />
      )}
      {overview?.stale != null && <Stale stale={overview.stale} />}
    </div>
  )
}

function Banner(props: {
  tone: 'bad' | 'warn'
  title: ComponentChildren
  children: ComponentChildren
}) {
  return (
    <section class={`banner ${props.tone}`}>
      <h2>{props.title}</h2>
      {props.children}
    </section>
  )
}

function NotConnected() {
  const { store, calendar } = usePage()
  const { link, overview } = store
  if (link.tag !== 'lost') return null
  const sinceMs = store.byDaemon(link.sinceMs)
  const since = calendar.moment(sinceMs, store.daemonNow())
  return (
    <Banner tone="bad" title={`Not connected since ${since} ${calendar.zone(sinceMs)}`}>
      <p>
        {overview === undefined
          ? 'The daemon does not answer.'
          : 'What you see is how it was then. The daemon may go on without this page, or it has ended.'}{' '}
        The page tries again by itself. <Command>tranched status</Command> tells what is known,
        without a daemon too.
      </p>
    </Banner>
  )
}

function Halted({
  halted: { sinceMs, cause, detail },
}: {
  halted: NonNullable<Overview['halted']>
}) {
  return (
    <Banner
      tone="bad"
      title={
        <>
          Halted since <Moment atMs={sinceMs} zone />
        </>
      }
    >
      <p>
        <strong>{plain(cause)}</strong>: {detail}
      </p>
      <p>
        Nothing new is signed; what is signed is followed to its end. Once you know why:{' '}
        <Command>tranched resume</Command>
      </p>
    </Banner>
  )
}

function NotReady({ reasons }: { reasons: readonly string[] }) {
  const { store } = usePage()
  const startedAtMs = store.overview?.startedAtMs
  return (
    <Banner tone="warn" title="Not ready">
      <ul>
        {reasons.map((reason) => (
          <li key={reason}>{reason}</li>
        ))}
      </ul>
      <p>
        It goes on trying by itself
        {startedAtMs !== undefined && (
          <>
            ; it was started <Ago atMs={startedAtMs} />
          </>
        )}
        . What it says meanwhile stands in its log.
      </p>
    </Banner>
  )
}

function Stale({ stale: { files, detail } }: { stale: NonNullable<Overview['stale']> }) {
  return (
    <Banner
      tone="warn"
      title={files === 1 ? 'A file was refused' : `${count(files)} files were refused`}
    >
      <p class="detail">{detail}</p>
      <p>
        The strategies go on as they were before. <Command>tranched validate</Command> tells every
        mistake; then <Command>tranched reload</Command>
      </p>
    </Banner>
  )
}
