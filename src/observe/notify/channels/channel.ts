import { createHash } from 'node:crypto'
import * as z from 'zod'
import { listOf, oneOf, section, textLike } from '../../../config/scalars.ts'
import { NOTIFY_EVENT_NAMES, type NotifyEvent } from '../../../domain/notify.ts'
import { addressSecrets, isLoopback } from '../../../domain/web-address.ts'
import type { Clock } from '../../../ports.ts'
import type { Message } from '../message.ts'

export type Delivery =
  | { readonly ok: true }
  | {
      readonly ok: false
      /** The receiver would refuse the message again. If false, a retry may work, and the message may even have arrived. */
      readonly final: boolean
      /** Whether the receiver answered: a message that it always rejects must not block the others. */
      readonly answered: boolean
      readonly retryAfterMs?: number | undefined
      /** One line for the log, without address or credential. */
      readonly fault: string
      readonly remedy?: string | undefined
    }

export type FailedDelivery = Extract<Delivery, { ok: false }>

export type ChannelOptions = {
  readonly clock: Pick<Clock, 'now'>
  readonly timeoutMs?: number | undefined
}

export type Receiver = {
  /** Kind and position in the config, from 1: `telegram-1`. */
  readonly name: string
  /** Path of its settings in the config: section, list, index. */
  readonly path: readonly [string, string, number]
  readonly routing: Routing
  readonly isProgram: boolean
  conflict(): Conflict | undefined
  texts(): readonly FieldText[]
  /** Sends nothing yet. */
  open(options: ChannelOptions): Promise<Channel>
}

/** Methods never reject, and every attempt is bounded in time and size. */
export type Channel = Pick<Receiver, 'name' | 'routing' | 'isProgram'> & {
  /** Key of its messages in the outbox. It identifies the receiver, not its position in the config. */
  readonly key: string
  /** Minimum time between two messages, set by the service's limits. */
  readonly paceMs: number
  deliver(message: Message, signal: AbortSignal): Promise<Delivery>
  close(): Promise<void>
}

/** Schema of one setting, and its secret parts. A bare schema is not a field, so every setting must state its secrets. */
type Field<Schema extends z.ZodType = z.ZodType> = {
  readonly schema: Schema
  readonly secretsIn: (text: string) => readonly string[]
  /** Whether it grants access, so that the config file must take it from a variable. */
  readonly isCredential: (text: string) => boolean
  /** Whether it is a web address, which must not use plain http to another machine. */
  readonly isAddress: boolean
}

type Fields = Readonly<Record<string, Field>>
/** Secrets and addresses are text, because only text can be masked. */
type TextSchema = z.ZodType<string | undefined>

/** A setting that grants no access. */
export function plain<Schema extends z.ZodType>(schema: Schema): Field<Schema> {
  return { schema, secretsIn: () => [], isCredential: () => false, isAddress: false }
}

/** A token or password. `secretsIn` lists all its forms, if it can appear in others. */
export function secret<Schema extends TextSchema>(
  schema: Schema,
  secretsIn: Field['secretsIn'] = (text) => [text],
): Field<Schema> {
  return { schema, secretsIn, isCredential: () => true, isAddress: false }
}

/** A web address that may hold a secret, and may be in the config file. */
export function address<Schema extends TextSchema>(schema: Schema): Field<Schema> {
  return { schema, secretsIn: addressSecrets, isCredential: () => false, isAddress: true }
}

/** A web address that is itself a credential, unless it points to this machine. */
export function secretAddress<Schema extends TextSchema>(schema: Schema): Field<Schema> {
  return { ...address(schema), isCredential: (url) => !isLoopback(new URL(url).hostname) }
}

/** Text without a pattern for editors: the file usually has a `${NAME}` here. */
export function variable(pattern: RegExp, expected: string, type: string | string[] = 'string') {
  return textLike(pattern, expected, { type })
}

/** Fields of every receiver; `usual` are its default events. */
export function routing(usual: readonly NotifyEvent[]) {
  const names = NOTIFY_EVENT_NAMES as readonly [NotifyEvent, ...NotifyEvent[]]
  return {
    on: plain(
      listOf(oneOf(names), `a list of: ${names.join(', ')}`)
        .prefault([...usual])
        .describe('Events to send'),
    ),
    strategies: plain(
      listOf(
        textLike(/^[a-z0-9*?-]{1,63}$/, 'a strategy name, in which `*` and `?` stand for others'),
        'a list of strategy names',
      )
        .optional()
        .describe(
          'Strategies whose events are sent, by name or with `*`; events of no strategy always are',
        ),
    ),
  }
}

type Routing = SettingsOf<ReturnType<typeof routing>>

type ShapeOf<F extends Fields> = { -readonly [Key in keyof F]: F[Key]['schema'] }
type SettingsOf<F extends Fields> = z.output<z.ZodObject<ShapeOf<F>, z.core.$strict>>

export function schemaOf<F extends Fields>(fields: F) {
  const shape = Object.entries(fields).map(([key, { schema }]) => [key, schema])
  return section(Object.fromEntries(shape) as ShapeOf<F>)
}

type Path = readonly (string | number)[]

export type FieldText = { readonly path: Path; readonly field: Field; readonly text: string }

export function textsOf(fields: Fields, settings: object, path: Path): readonly FieldText[] {
  return Object.entries(settings).flatMap(([key, text]: [string, unknown]) => {
    const field = fields[key]
    return field && typeof text === 'string' ? { path: [...path, key], field, text } : []
  })
}

/** A conflict between individually valid settings. */
type Conflict = { readonly message: string; readonly expected: string }

type ChannelSpec<F extends Fields> = {
  readonly kind: string
  readonly list: { readonly of: string; readonly about: string }
  /** Made for the first receiver: most configs have none. */
  readonly fields: () => F
  /** Programs receive every event of one observation, people only the first. */
  readonly isProgram?: true
  readonly paceMs: number
  /** Identifies the receiver, without settings that may change for it, such as a password. */
  readonly identity: (settings: SettingsOf<F>) => readonly (string | number | undefined)[]
  readonly conflict?: (settings: SettingsOf<F>) => Conflict | undefined
  /** Loads the service's client on demand: reading a config must not pay for it. */
  readonly open: (
    settings: SettingsOf<F>,
    options: ChannelOptions,
  ) => Promise<Pick<Channel, 'deliver' | 'close'>>
}

export type ChannelKind<List extends z.ZodType = z.ZodType, Settings = object> = {
  readonly schema: List
  /** A method, so that all channels of a registry have one type. Each list must go to the channel that parsed it. */
  receivers(list: readonly Settings[], key: string): readonly Receiver[]
}

/** A registry entry: the schema of a channel's list, and its receivers. */
export function defineChannel<F extends Fields & ReturnType<typeof routing>>(spec: ChannelSpec<F>) {
  const { kind, list, paceMs, identity, conflict } = spec
  let made: F | undefined
  const fieldsOnce = (): F => {
    made ??= spec.fields()
    return made
  }
  const schema = z
    .array(
      z.lazy(() => schemaOf(fieldsOnce())),
      { error: `a list of ${list.of}` },
    )
    .prefault([])
    .describe(list.about)
  function bind(settings: SettingsOf<F>, path: Receiver['path']): Receiver {
    const common = {
      name: `${kind}-${path[2] + 1}`,
      routing: settings as Routing,
      isProgram: spec.isProgram ?? false,
    }
    return {
      ...common,
      path,
      conflict: () => conflict?.(settings),
      texts: () => textsOf(fieldsOnce(), settings, path),
      open: async (options) => ({
        ...common,
        key: keyOf(kind, identity(settings)),
        paceMs,
        ...(await spec.open(settings, options)),
      }),
    }
  }
  return {
    schema,
    receivers: (list, key) => list.map((settings, index) => bind(settings, ['notify', key, index])),
  } satisfies ChannelKind<typeof schema, SettingsOf<F>>
}

const KEY_DIGITS = 16

/** Waiting messages belong to an identity, not to a place in the config. A digest keeps addresses out of the outbox. */
function keyOf(kind: string, identity: readonly (string | number | undefined)[]): string {
  const digest = createHash('sha256').update(JSON.stringify([kind, ...identity]))
  return `${kind}-${digest.digest('hex').slice(0, KEY_DIGITS)}`
}

/** Cuts text to UTF-16 units, never inside a surrogate pair or an escape. */
export function cutText(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text
  return `${text.slice(0, lengthMax - 3).replace(/[\ud800-\udbff\\]$|&[a-z]{0,4}$/, '')}...`
}
