/**
 * The connection over which changes come. What it says of itself is what the page may say: as long as nothing was heard, nothing on the
 * page counts as present.
 */
export type LinkState =
  | { readonly tag: 'connecting' }
  | { readonly tag: 'live' }
  | { readonly tag: 'lost'; readonly sinceMs: number; readonly attempts: number }

/** Server-sent events. */
export type Stream = {
  on(of: { opened(): void; failed(): void; change(data: string): void }): void
  close(): void
}

/** What the link works with; of a browser in the page, of a test else. */
export type LinkEffects = {
  open(): Stream
  now(): number
  /** Runs once after so many milliseconds; what comes back calls it off. */
  after(delayMs: number, run: () => void): () => void
  random(): number
}

export type LinkEvents = {
  /** Everything is asked for anew; rejects when it cannot be had. */
  refresh(): Promise<void>
  /** Asks the daemon whether it has news that did not come over the stream; rejects when it does not answer. */
  probe(): Promise<'nothing-new' | 'behind'>
  change(data: string): void
  state(state: LinkState): void
}

export type Link = {
  /** Looks at once whether it still stands: the page was out of sight, or the machine asleep. */
  check(): void
  close(): void
}

/** A daemon with nothing to tell is silent towards the page: after this long it is asked. */
const SILENCE_MS = 20_000
/** News that the stream does not bring within this long, it does not bring at all. */
const BEHIND_MS = 3_000
/** A stream that neither opens nor fails for so long is given up. */
const OPENING_MS = 10_000
const BACKOFF_MS_MIN = 500
const BACKOFF_MS_MAX = 15_000

/** How long to wait before attempt number `attempts`, from 1 on: doubled each time, a quarter of it by chance. */
export function backoffMs(attempts: number, random: number): number {
  const full = Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** Math.min(attempts - 1, 10))
  return full * (0.75 + random / 4)
}

/** Connects, and goes on connecting until it is closed. */
export function openLink(effects: LinkEffects, events: LinkEvents): Link {
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
    // The last thing that was heard is what the page still shows.
    lostSinceMs ??= heardAtMs
    events.state({ tag: 'lost', sinceMs: lostSinceMs, attempts })
    wait(backoffMs(attempts, effects.random()), connect)
  }

  function check(): void {
    const mine = stream
    if (mine === undefined) {
      // Waiting for the next attempt: no reason to wait any longer when somebody looks.
      wait(0, connect)
      return
    }
    if (!live) return
    events.probe().then(
      (found) => {
        if (stream !== mine) return
        if (found === 'nothing-new') heard()
        // What comes now calls this off.
        else wait(BEHIND_MS, () => lose(mine))
      },
      () => lose(mine),
    )
  }

  connect()
  return {
    check,
    close() {
      closed = true
      callOff()
      stream?.close()
    },
  }
}
