/** Severity of a message: a full outbox keeps alarms longest. */
export type Severity = 'info' | 'warning' | 'alarm'

type EventSpec = {
  readonly meaning: string
  readonly severity: Severity
  /** Sent only to receivers that list it. */
  readonly isOptIn?: true
  /** An older, wider event: receivers of that event get this one too, under the wider name. */
  readonly within?: 'failed' | 'halted'
}

/** All events, a closed set: the values of `on` in the config and of a webhook's `event`. */
export const NOTIFY_EVENTS = {
  filled: {
    meaning: 'An order was filled, or a call executed, and the chain proves it.',
    severity: 'info',
  },
  failed: {
    meaning:
      'An order ended without a fill. It includes `unsold`, `reorganised` and `disbelieved`.',
    severity: 'warning',
  },
  refused: {
    meaning: 'A quote or a call was not signed, because your files do not allow it.',
    severity: 'warning',
  },
  missed: {
    meaning: 'Slots passed without a decision, and are not made up for.',
    severity: 'warning',
  },
  halted: {
    meaning: 'Nothing is signed until it is resumed. It includes `paused` and `approval`.',
    severity: 'alarm',
  },
  'low-funds': {
    meaning:
      'A wallet or the GasTank has too little, is not topped up, or the funds in the GasTank are unknown.',
    severity: 'warning',
  },
  paused: {
    meaning:
      'A strategy opens no slots until it is resumed, or skips them while the service does not list its tokens.',
    severity: 'warning',
    within: 'halted',
  },
  approval: {
    meaning:
      'A strategy opens no slots, or nothing is signed with a contract whose code has changed, until you approve.',
    severity: 'warning',
    within: 'halted',
  },
  resumed: {
    meaning: 'A halt, a pause or a hold is over, or the new code of a contract is accepted.',
    severity: 'info',
  },
  unsold: {
    meaning: 'A TWAP schedule is over and has not sold its total.',
    severity: 'warning',
    within: 'failed',
  },
  reorganised: {
    meaning: 'The chain reverted a fill that was reported before.',
    severity: 'alarm',
    within: 'failed',
  },
  disbelieved: {
    meaning:
      'The chain does not confirm what a service says or leaves out, and money waits for the outcome.',
    severity: 'alarm',
    within: 'failed',
  },
  trouble: {
    meaning:
      "For five minutes or longer a service gave no usable answer, a chain could not be read, its nodes disagreed, or clocks did; or the journal's archive takes no files, or the bot that controls the daemon cannot be reached.",
    severity: 'warning',
  },
  recovered: {
    meaning:
      'A `low-funds`, `trouble` or `files-refused` condition is over. Sent to receivers of its first message.',
    severity: 'info',
  },
  'files-refused': {
    meaning: 'Changed files were refused, and the older ones stay in force.',
    severity: 'warning',
  },
  state: {
    meaning: 'An operator started with fresh state, or continued despite lost records.',
    severity: 'alarm',
  },
  crashed: {
    meaning: 'The daemon could not start, or ends because of a fault.',
    severity: 'alarm',
  },
  started: { meaning: 'The daemon has started.', severity: 'info', isOptIn: true },
  stopped: {
    meaning: 'The daemon has stopped on request.',
    severity: 'info',
    isOptIn: true,
  },
  digest: {
    meaning: 'The summary of a day or a week, where `notify.digest` asks for one.',
    severity: 'info',
  },
} as const satisfies Readonly<Record<string, EventSpec>>

export type NotifyEvent = keyof typeof NOTIFY_EVENTS

const SPECS: Readonly<Record<NotifyEvent, EventSpec>> = NOTIFY_EVENTS

export const NOTIFY_EVENT_NAMES = Object.keys(NOTIFY_EVENTS) as readonly NotifyEvent[]

/** Default events of webhooks: the original six. */
export const WEBHOOK_EVENTS_USUAL: readonly NotifyEvent[] = [
  'filled',
  'failed',
  'refused',
  'missed',
  'halted',
  'low-funds',
]

export const EVENTS_USUAL = NOTIFY_EVENT_NAMES.filter((event) => !SPECS[event].isOptIn)

export function severityOf(event: NotifyEvent): Severity {
  return SPECS[event].severity
}

/** The event's name for a receiver of `on`, possibly the wider one; undefined if the receiver does not get it. */
export function subscriptionFor(
  event: NotifyEvent,
  on: readonly NotifyEvent[],
): NotifyEvent | undefined {
  if (on.includes(event)) return event
  const { within } = SPECS[event]
  return within !== undefined && on.includes(within) ? within : undefined
}

/** Whether a receiver gets messages about a strategy. `strategies` are names or globs; undefined means all. */
export function hearsOf(strategies: readonly string[] | undefined, strategy: string): boolean {
  return strategies === undefined || strategies.some((glob) => matchesGlob(glob, strategy))
}

/** `*` matches any characters, `?` matches one. Cost is bounded by the product of both lengths. */
export function matchesGlob(glob: string, name: string): boolean {
  let reached = new Set([0])
  for (const wanted of glob) {
    const from = [...reached]
    reached = new Set()
    if (wanted === '*') for (let at = Math.min(...from); at <= name.length; at += 1) reached.add(at)
    else for (const at of from) if (wanted === '?' || wanted === name[at]) reached.add(at + 1)
  }
  return reached.has(name.length)
}
