/** Nothing on the page counts as current unless the link is `live`. */
export type LinkState =
  | { readonly tag: 'connecting' }
  | { readonly tag: 'live' }
  | { readonly tag: 'lost'; readonly sinceMs: number; readonly attempts: number }

export type Stream = {
  on(of: { opened(): void; failed(): void; change(data: string): void }): void
  close(): void
}

type LinkEffects = {
  open(): Stream
  now(): number
  /** @returns a function that cancels it */
  after(delayMs: number, run: () => void): () => void
  random(): number
}

type LinkEvents = {
  /** Reloads everything; rejects if that fails. */
  refresh(): Promise<void>
  /** Compares revisions with the daemon, to find changes that the stream missed; rejects without an answer. */
  probe(): Promise<'nothing-new' | 'behind'>
  change(data: string): void
  state(state: LinkState): void
}

/** An idle daemon is silent, so the page asks after this long. */
const SILENCE_MS = 20_000
/** A stream that does not deliver known changes within this time is dead. */
const BEHIND_MS = 3_000
/** A stream that neither opens nor fails within this time is closed. */
const OPENING_MS = 10_000
const BACKOFF_MS_MIN = 500
const BACKOFF_MS_MAX = 15_000

/** Delay before attempt number `attempts`, from 1: doubled each time, a quarter of it random. */
export function backoffMs(attempts: number, random: number): number {
  const full = Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** Math.min(attempts - 1, 10))
  return full * (0.75 + random / 4)
}

export function openLink(effects: LinkEffects, events: LinkEvents) {
  let stream: Stream | undefined
  let callOff = () => {}
  let heardAtMs = effects.now()
  let attempts = 0
  let closed = false
  let live = false
  let lostSinceMs: number | undefined

  function wait(delayMs: number, run: () => void): void {
    callOff()
    callOff = effects.after(delayMs, run)
  }

  function connect(): void {
    if (closed) return
    const mine = effects.open()
    stream = mine
    wait(OPENING_MS, () => lose(mine))
    mine.on({
      opened: () => settle(mine),
      failed: () => lose(mine),
      change(data) {
        if (stream !== mine) return
        heard()
        events.change(data)
      },
    })
  }

  function settle(mine: Stream): void {
    if (stream !== mine) return
    events.refresh().then(
      () => {
        if (stream !== mine) return
        attempts = 0
        live = true
        lostSinceMs = undefined
        heard()
        events.state({ tag: 'live' })
      },
      () => lose(mine),
    )
  }

  function heard(): void {
    heardAtMs = effects.now()
    if (live) wait(SILENCE_MS, check)
  }

  function lose(mine: Stream): void {
    if (stream !== mine || closed) return
    mine.close()
    stream = undefined
    attempts += 1
    live = false
    // Counts from the last contact, whose data the page still shows.
    lostSinceMs ??= heardAtMs
    events.state({ tag: 'lost', sinceMs: lostSinceMs, attempts })
    wait(backoffMs(attempts, effects.random()), connect)
  }

  function check(): void {
    const mine = stream
    if (mine === undefined) {
      wait(0, connect)
      return
    }
    if (!live) return
    events.probe().then(
      (found) => {
        if (stream !== mine) return
        if (found === 'nothing-new') heard()
        // Any event cancels this wait.
        else wait(BEHIND_MS, () => lose(mine))
      },
      () => lose(mine),
    )
  }

  connect()
  return {
    /** Checks at once, because the page was hidden or the machine asleep. */
    check,
    close() {
      closed = true
      callOff()
      stream?.close()
    },
  }
}
