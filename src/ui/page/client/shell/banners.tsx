import type { ComponentChildren } from 'preact'
import { Command } from '../../../parts/elements.tsx'
import { count } from '../../../parts/wording/amounts.ts'
import { plain } from '../../../parts/wording/outcomes.ts'
import { access } from '../data/daemon-requests.ts'
import { Ago, Moment, Said } from '../parts/values.tsx'
import { StopButton, TokenForm } from './commands.tsx'
import { usePage } from './context.tsx'

/** Conditions that stop the daemon, each with the command that helps. */
export function Banners() {
  const { store } = usePage()
  const { halted = null, stale = null, ready, startedAtMs } = store.overview ?? {}
  return (
    <div class="banners">
      <NotConnected />
      {halted !== null && (
        <Banner
          tone="bad"
          title={
            <>
              Halted since <Moment atMs={halted.sinceMs} zone />
            </>
          }
        >
          <p>
            <strong>{plain(halted.cause)}</strong>: <Said text={halted.detail} />
          </p>
          <p>
            Nothing new is signed; signed orders are followed to their end. Once you know why:{' '}
            <Command>tranched resume</Command>
          </p>
          <StopButton command="resume" />
        </Banner>
      )}
      {ready?.ok === false && (
        <Banner tone="warn" title="Not ready">
          <ul>
            {ready.reasons.map((reason) => (
              <li key={reason}>
                <Said text={reason} />
              </li>
            ))}
          </ul>
          <p>
            The daemon keeps trying; it was started <Ago atMs={startedAtMs ?? 0} />. See its log.
          </p>
        </Banner>
      )}
      {stale !== null && (
        <Banner
          tone="warn"
          title={
            stale.files === 1 ? 'A file was refused' : `${count(stale.files)} files were refused`
          }
        >
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and the keyboard has to reach that. */}
          <pre class="detail" tabIndex={0}>
            {stale.detail}
          </pre>
          <p>
            The strategies run as before. <Command>tranched validate</Command> lists every mistake;
            then <Command>tranched reload</Command>
          </p>
        </Banner>
      )}
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
  const { store, calendar, reconnect } = usePage()
  const { link, overview } = store
  if (link.tag !== 'lost') return null
  if (access.isDenied)
    return (
      <Banner tone="warn" title="This page asks for a token">
        <TokenForm
          hint={
            access.isWrong
              ? 'This token is not accepted. The file that http.viewTokenFile of the config names has it.'
              : 'It is in the file that http.viewTokenFile of the config names.'
          }
          enter={(token) => {
            access.set(token)
            reconnect()
          }}
        />
      </Banner>
    )
  const sinceMs = store.byDaemon(link.sinceMs)
  const since = calendar.moment(sinceMs, store.daemonNow())
  return (
    <Banner tone="bad" title={`Not connected since ${since} ${calendar.zone(sinceMs)}`}>
      <p>
        {overview === undefined
          ? 'The daemon does not answer.'
          : 'This is the state at that time. The daemon may have ended, or may still run without this page.'}{' '}
        The page reconnects on its own. <Command>tranched status</Command> works without a daemon
        too.
      </p>
    </Banner>
  )
}
