import * as z from 'zod'
import { readAs } from '../../system/read-json.ts'

/** Answers of Telegram's Bot API (core.telegram.org/bots/api, "Making requests"). */

/** Optional and unimportant: never makes an answer unreadable. */
const seconds = z.number().nonnegative().optional().catch(undefined)

const refusalSchema = z.object({
  ok: z.literal(false),
  error_code: z.int(),
  description: z.string().catch(''),
  parameters: z.object({ retry_after: seconds }).optional().catch(undefined),
})
export type BotRefusal = z.infer<typeof refusalSchema>

export const envelopeSchema = z.discriminatedUnion('ok', [
  z.object({ ok: z.literal(true), result: z.unknown() }),
  refusalSchema,
])

/** Result of `sendMessage`. */
export const sentSchema = z
  .object({ message_id: z.int() })
  .transform(({ message_id: messageId }) => ({ messageId }))

/** Result of `getUpdates`. Each update is parsed separately, so that one of a new kind does not spoil the others. */
export const updatesSchema = z.array(z.unknown())

/** Result of methods that answer `true` or something unused. */
export const doneSchema = z.unknown().transform(() => undefined)

const UPDATE_ID_MAX = 2 ** 31 - 1
/** Longer than any command. */
const TEXT_LENGTH_MAX = 200

/** Fields of messages not written to this bot by their sender: forwarded, edited, or from another bot or business. */
const SECOND_HAND = [
  ...['forward_origin', 'forward_from', 'forward_from_chat', 'forward_sender_name', 'forward_date'],
  ...['is_automatic_forward', 'via_bot', 'sender_chat', 'sender_business_bot'],
  ...['business_connection_id', 'guest_query_id', 'guest_bot_caller_user', 'edit_date'],
] as const

const userSchema = z.object({ id: z.int(), is_bot: z.boolean() })
const chatSchema = z.object({ id: z.int(), type: z.string() })
const messageSchema = z.looseObject({
  message_id: z.int(),
  date: z.int().positive(),
  from: userSchema.optional(),
  chat: chatSchema,
  text: z.string().optional(),
})
const pressSchema = z.object({
  id: z.string().min(1).max(64),
  from: userSchema,
  message: z.object({ message_id: z.int(), chat: chatSchema }).optional(),
  data: z.string().optional(),
})
const updateIdSchema = z.object({ update_id: z.int().positive().max(UPDATE_ID_MAX) })
const updateSchema = updateIdSchema.extend({
  message: messageSchema.optional(),
  callback_query: pressSchema.optional(),
})

export type Speaker = {
  /** Undefined for messages without a sender. */
  readonly user: number | undefined
  readonly isBot: boolean
  /** A private chat has its user's id. */
  readonly chat: number
  readonly isPrivate: boolean
}

export type Incoming =
  | {
      readonly tag: 'message'
      readonly speaker: Speaker
      readonly messageId: number
      readonly dateSeconds: number
      /** Cut, with a mark, if longer than any command; undefined for pictures and the like. */
      readonly text: string | undefined
      readonly isSecondHand: boolean
    }
  | {
      /** A pressed button under one of the bot's messages. Has no time. */
      readonly tag: 'press'
      readonly speaker: Speaker
      /** The message with the button. */
      readonly messageId: number
      readonly queryId: string
      readonly data: string
    }
  /** Another kind of update, or an unreadable one. */
  | { readonly tag: 'other' }

/** One update with its number; undefined without a usable number. */
export function readUpdate(
  raw: unknown,
): { readonly id: number; readonly incoming: Incoming } | undefined {
  const numbered = readAs(updateIdSchema, raw)
  if (!numbered.ok) return undefined
  const id = numbered.value.update_id
  const update = readAs(updateSchema, raw)
  if (!update.ok) return { id, incoming: { tag: 'other' } }
  const { message, callback_query: press } = update.value
  if (message !== undefined) return { id, incoming: messageOf(message) }
  return { id, incoming: press === undefined ? { tag: 'other' } : pressOf(press) }
}

function messageOf(message: z.infer<typeof messageSchema>): Incoming {
  return {
    tag: 'message',
    speaker: speakerOf(message.from, message.chat),
    messageId: message.message_id,
    dateSeconds: message.date,
    text: message.text === undefined ? undefined : cut(message.text),
    isSecondHand: SECOND_HAND.some((name) => message[name] !== undefined),
  }
}

/** Marks the cut, because a command without its argument means something else. */
function cut(text: string): string {
  return text.length <= TEXT_LENGTH_MAX ? text : `${text.slice(0, TEXT_LENGTH_MAX)} ...`
}

function pressOf({ id, from, message, data = '' }: z.infer<typeof pressSchema>): Incoming {
  // A button under a message sent elsewhere through the bot.
  if (message === undefined) return { tag: 'other' }
  const { message_id: messageId, chat } = message
  const speaker = speakerOf(from, chat)
  return { tag: 'press', speaker, messageId, queryId: id, data: data.slice(0, TEXT_LENGTH_MAX) }
}

function speakerOf(
  from: z.infer<typeof userSchema> | undefined,
  { id: chat, type }: z.infer<typeof chatSchema>,
): Speaker {
  return { user: from?.id, isBot: from?.is_bot === true, chat, isPrivate: type === 'private' }
}
