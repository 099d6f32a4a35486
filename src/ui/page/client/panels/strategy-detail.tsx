import { useEffect, useMemo, useState } from 'preact/hooks'
import { Amount, Command, Fact, Unknown } from '../../../parts/elements.tsx'
import { chartNumber, count, shortAmount, signedMoney } from '../../../parts/wording/amounts.ts'
import type { StrategyDetail, StrategyRow } from '../../model.ts'
import { daemon, messageOf } from '../data/daemon-requests.ts'
import { webAddress } from '../parts/labels.ts'
import { usePage } from '../shell/context.tsx'
import type { Choice } from './price-section.tsx'

const RELOAD_MS = 60_000

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
            , at average cost
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

/** The file's text, with a caret under each problem. */
export function StrategyFile({ file }: { file: NonNullable<StrategyDetail['file']> }) {
  const { name, text, isCut, differs, problems } = file
  const lines = useMemo(() => text?.replace(/\n$/, '').split('\n') ?? [], [text])
  const isRefused = problems.length > 0
  return (
    <section aria-label="File">
      <h3>File {name}</h3>
      {differs && (
        <p class="note warn">
          The file on disk differs from the one that the daemon trades by.{' '}
          <Command>tranched reload</Command> takes it over.
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
  return /\n *\| ([ \t]*\^+)$/.exec(frame)?.[1] ?? ''
}
