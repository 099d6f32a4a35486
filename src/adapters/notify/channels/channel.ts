import type { Clock } from '../../../ports.ts'
import type { Message } from '../message.ts'

/** What became of one try. */
export type Delivery =
  | { readonly ok: true }
  | {
      readonly ok: false
      /** The receiver itself refused it, and would again. Anything else may go better later, and may even have arrived. */
      readonly final: boolean
      /** Whether the receiver answered at all: a message that it stumbles over must not hold up the others for good. */
      readonly answered: boolean
      /** How long it wants to be left alone. */
      readonly retryAfterMs?: number | undefined
      /** One line that is fit for a log: no address, no credential. */
      readonly fault: string
      /** What the operator may do about it. */
      readonly remedy?: string | undefined
    }

export type FailedDelivery = Extract<Delivery, { ok: false }>

/** What channels are made with. */
export type ChannelOptions = {
  readonly clock: Pick<Clock, 'now'>
  /** For a whole request, where a channel makes one. */
  readonly timeoutMs?: number | undefined
}

/** What a channel is called by. */
export type ChannelName = Pick<Channel, 'name' | 'key'>

/** A way to one receiver. Nothing here rejects, and every try is bounded in time and size. */
export type Channel = {
  /** `telegram-1`: kind and place in the config. */
  readonly name: string
  /** What messages wait for by this name in the outbox: it goes by the receiver, not by its place in the config. */
  readonly key: string
  /** Between two messages at least, as its service asks for. */
  readonly paceMs: number
  deliver(message: Message, signal: AbortSignal): Promise<Delivery>
  close(): Promise<void>
}
