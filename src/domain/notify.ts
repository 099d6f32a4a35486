import type { CronRecurrence } from './schedule/schedule.ts'

/** How much a message matters: what a full outbox keeps longest, and how loud a receiver is. */
export type Severity = 'info' | 'warning' | 'alarm'

type EventSpec = {
  /** What has happened, one sentence. */
  readonly tells: string
  readonly severity: Severity
  /** Whether receivers that name no events hear of it. Webhooks hear of the six that they always had. */
  readonly isUsual: boolean
  /** An event of the older, wider words: whoever asks for that hears of this one too, under that name. */
  readonly within?: 'failed' | 'halted'
}

/** Everything that a person may be told of. Closed: the words of `on` in the config, and of a webhook's `event`. */
export const NOTIFY_EVENTS = {
  filled: {
    tells: 'An order was filled, or a call executed, and the chain proves it.',
    severity: 'info',
    isUsual: true,
  },
  failed: {
    tells: 'An order ended without a fill. It includes `unsold`, `reorganised` and `disbelieved`.',
    severity: 'warning',
    isUsual: true,
  },
  refused: {
    tells: 'A quote or a call was not signed, because your files do not allow it.',
    severity: 'warning',
    isUsual: true,
  },
  missed: {
    tells: 'Slots passed unattended, and are not made up for.',
    severity: 'warning',
    isUsual: true,
  },
  halted: {
    tells: 'Nothing is signed any more until it is resumed. It includes `paused` and `approval`.',
    severity: 'alarm',
    isUsual: true,
  },
  'low-funds': {
    tells:
      'A wallet or the GasTank has too little, is not topped up, or nobody knows what the GasTank has.',
    severity: 'warning',
    isUsual: true,
  },
  paused: {
    tells: 'One strategy opens no slots until it is resumed.',
    severity: 'warning',
    isUsual: true,
    within: 'halted',
  },
  approval: {
    tells:
      'A strategy opens no slots, or nothing is signed with a contract whose code has changed, until you approve.',
    severity: 'warning',
    isUsual: true,
    within: 'halted',
  },
  resumed: {
    tells: 'A halt, a pause or a hold is over, or the new code of a contract is accepted.',
    severity: 'info',
    isUsual: true,
  },
  unsold: {
    tells: 'A program of slices is over and has not sold its total.',
    severity: 'warning',
    isUsual: true,
    within: 'failed',
  },
  reorganised: {
    tells: 'The chain took back a fill that was told before.',
    severity: 'alarm',
    isUsual: true,
    within: 'failed',
  },
  disbelieved: {
    tells:
      'What a service says or leaves out is not borne out by the chain, and money waits for it.',
    severity: 'alarm',
    isUsual: true,
    within: 'failed',
  },
  trouble: {
    tells:
      'For five minutes or longer a service gave no usable answer, a chain could not be read, its nodes disagreed, or clocks did; or the archive of the journal takes no files, or the bot that you control the daemon by cannot be listened to.',
    severity: 'warning',
    isUsual: true,
  },
  recovered: {
    tells:
      'What was told as `low-funds`, `trouble` or `files-refused` is over. Sent to whoever was told of it.',
    severity: 'info',
    isUsual: true,
  },
  'files-refused': {
    tells: 'Changed files were refused, and the older ones stay in force.',
    severity: 'warning',
    isUsual: true,
  },
  state: {
    tells: 'An operator began with fresh state, or went on although records are lost.',
    severity: 'alarm',
    isUsual: true,
  },
  crashed: {
    tells: 'The daemon could not start, or ends because of a fault.',
    severity: 'alarm',
    isUsual: true,
  },
  started: { tells: 'The daemon has started.', severity: 'info', isUsual: false },
  stopped: {
    tells: 'The daemon has stopped as it was asked to.',
    severity: 'info',
    isUsual: false,
  },
  digest: {
    tells: 'The summary of a day or a week, where `notify.digest` asks for one.',
    severity: 'info',
    isUsual: true,
  },
} as const satisfies Readonly<Record<string, EventSpec>>

export type NotifyEvent = keyof typeof NOTIFY_EVENTS

const SPECS: Readonly<Record<NotifyEvent, EventSpec>> = NOTIFY_EVENTS

export const NOTIFY_EVENT_NAMES = Object.keys(NOTIFY_EVENTS) as readonly NotifyEvent[]

/** What webhooks hear of unless they name events. */
export const WEBHOOK_EVENTS_USUAL: readonly NotifyEvent[] = [
  ...(['filled', 'failed', 'refused', 'missed', 'halted', 'low-funds'] as const),
]

/** What other receivers hear of unless they name events. */
export const EVENTS_USUAL = NOTIFY_EVENT_NAMES.filter((event) => SPECS[event].isUsual)

export function severityOf(event: NotifyEvent): Severity {
  return SPECS[event].severity
}

/** The word under which a receiver that asked for some events is told of one; undefined where it is not. */
export function wordFor(event: NotifyEvent, on: readonly NotifyEvent[]): NotifyEvent | undefined {
  if (on.includes(event)) return event
  const { within } = SPECS[event]
  return within !== undefined && on.includes(within) ? within : undefined
}

/** Which messages a receiver gets. */
export type Routing = {
  readonly on: readonly NotifyEvent[]
  /** Names or globs (`*`, `?`). What is about no single strategy goes to everybody. All of them where undefined. */
  readonly strategies?: readonly string[] | undefined
}

/** Whether what is about a strategy goes to a receiver. */
export function hearsOf({ strategies }: Pick<Routing, 'strategies'>, strategy: string): boolean {
  return strategies === undefined || strategies.some((glob) => matchesGlob(glob, strategy))
}

/** `*` stands for any characters, `?` for one. Goes back to the last `*` alone, so that no glob makes it slow. */
export function matchesGlob(glob: string, name: string): boolean {
  let at = 0
  let inGlob = 0
  let star: { readonly glob: number; name: number } | undefined
  while (at < name.length) {
    const wanted = glob[inGlob]
    if (wanted === '*') {
      star = { glob: inGlob, name: at }
      inGlob += 1
    } else if (wanted === '?' || wanted === name[at]) {
      at += 1
      inGlob += 1
    } else if (star === undefined) return false
    else {
      star.name += 1
      at = star.name
      inGlob = star.glob + 1
    }
  }
  return /^\**$/.test(glob.slice(inGlob))
}

export type WebhookReceiver = Routing & {
  readonly url: string
  /** Signs what is sent, after the Standard Webhooks specification. */
  readonly secret?: string | undefined
}

export type TelegramReceiver = Routing & {
  readonly token: string
  /** Numeric id, or `@name` of a channel. */
  readonly chat: string
  /** Topic of a group that has some. */
  readonly thread?: number | undefined
  readonly apiRoot: string
}

/** Discord and Slack: the address is the whole credential. */
export type ChatReceiver = Routing & { readonly url: string }

export type NtfyReceiver = Routing & {
  readonly server: string
  readonly topic: string
  readonly token?: string | undefined
  readonly user?: string | undefined
  readonly password?: string | undefined
}

export type EmailReceiver = Routing & {
  /** `smtps://` or `smtp://`, with the login. */
  readonly smtp: string
  readonly from: string
  readonly to: readonly string[]
}

/** The dead man's switch: somebody outside raises the alarm when the pings stop. */
export type HeartbeatSettings = {
  readonly url: string
  readonly everyMs: number
  /** Also pings `/start` and `/fail` below the address. */
  readonly startAndFail: boolean
}

/** When summaries are due. */
export type DigestSettings = {
  readonly daily?: CronRecurrence | undefined
  readonly weekly?: CronRecurrence | undefined
}

/** The `notify` section of a config. Receivers are called by their kind and place, as in `telegram-1`. */
export type NotifySettings = {
  /** IANA zone of the times in messages, and of the digests. */
  readonly timezone: string
  readonly webhooks: readonly WebhookReceiver[]
  readonly telegram: readonly TelegramReceiver[]
  readonly discord: readonly ChatReceiver[]
  readonly slack: readonly ChatReceiver[]
  readonly ntfy: readonly NtfyReceiver[]
  readonly email: readonly EmailReceiver[]
  readonly digest?: DigestSettings | undefined
  readonly heartbeat?: HeartbeatSettings | undefined
}

export type ReceiverKind = 'webhook' | 'telegram' | 'discord' | 'slack' | 'ntfy' | 'email'

/** One receiver of the config, whatever it is. */
export type Receiver = {
  [Kind in ReceiverKind]: {
    readonly kind: Kind
    /** Its kind and its place in the config, from 1. */
    readonly name: string
    /** Key in the `notify` section. */
    readonly section: keyof NotifySettings
    readonly index: number
    readonly routing: ReceiverOf<Kind>
  }
}[ReceiverKind]

type ReceiverOf<Kind extends ReceiverKind> = {
  webhook: WebhookReceiver
  telegram: TelegramReceiver
  discord: ChatReceiver
  slack: ChatReceiver
  ntfy: NtfyReceiver
  email: EmailReceiver
}[Kind]

/** All receivers of a config, in the order of its sections. */
export function receiversOf(notify: NotifySettings): readonly Receiver[] {
  const listed = [
    ...notify.webhooks.map(
      (routing) => ({ kind: 'webhook', section: 'webhooks', routing }) as const,
    ),
    ...notify.telegram.map(
      (routing) => ({ kind: 'telegram', section: 'telegram', routing }) as const,
    ),
    ...notify.discord.map((routing) => ({ kind: 'discord', section: 'discord', routing }) as const),
    ...notify.slack.map((routing) => ({ kind: 'slack', section: 'slack', routing }) as const),
    ...notify.ntfy.map((routing) => ({ kind: 'ntfy', section: 'ntfy', routing }) as const),
    ...notify.email.map((routing) => ({ kind: 'email', section: 'email', routing }) as const),
  ]
  const counts = new Map<ReceiverKind, number>()
  return listed.map((receiver) => {
    const index = counts.get(receiver.kind) ?? 0
    counts.set(receiver.kind, index + 1)
    return { ...receiver, index, name: `${receiver.kind}-${index + 1}` }
  })
}
