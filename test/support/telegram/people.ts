import type { Message, Update } from '@grammyjs/types'
import type { BotApiServer } from './bot-api-server.ts'

type Server = Pick<BotApiServer, 'updates' | 'deliver' | 'presses'>

type Said = {
  /** Unix seconds; now unless given. */
  readonly dateSeconds?: number
  /** Fields of the message that add to or replace the default ones. */
  readonly message?: object
}

export type Person = {
  readonly id: number
  /** Writes to the bot in the private chat with it. Returns the number of the update. */
  says(text: string, said?: Said): number
  /** Presses a button below one of the bot's messages. */
  presses(messageId: number, data: string, more?: object): number
}

let lastMessageId = 50_000
let lastPressId = 0

/** A user of Telegram. */
export function person(server: Server, id: number, isBot = false): Person {
  const user = { id, is_bot: isBot, first_name: `Person ${id}` }
  const chat = { id, type: 'private', first_name: user.first_name }
  return {
    id,
    says: (text, { dateSeconds = now(), message = {} } = {}) =>
      queue(server, {
        message: {
          message_id: nextMessageId(),
          from: user,
          chat,
          date: dateSeconds,
          text,
          ...message,
        } as Message & Update.NonChannel,
      }),
    presses(messageId, data, more = {}) {
      lastPressId += 1
      const press = `press-${lastPressId}`
      server.presses.add(press)
      const callback_query = {
        id: press,
        from: user,
        chat_instance: '1',
        message: { message_id: messageId, chat, date: now(), text: 'Resume?' },
        data,
        ...more,
      }
      return queue(server, { callback_query } as unknown as Partial<Update>)
    },
  }
}

/** Queues any update and wakes waiting polls. */
export function queue(
  { updates, deliver }: Pick<Server, 'updates' | 'deliver'>,
  update: object,
): number {
  const id = updates.add(update)
  deliver()
  return id
}

/** Messages that seem to come from a person, but that the person did not write to the bot. */
export function forgeries(id: number): Readonly<Record<string, object>> {
  const stranger = { id: 666, is_bot: false, first_name: 'Mallory' }
  const user = { id, is_bot: false, first_name: 'Alice' }
  const group = { id: -100_123, type: 'supergroup', title: 'Traders' }
  return {
    'forwarded from a stranger': {
      forward_origin: { type: 'user', sender_user: stranger, date: 1 },
    },
    'forwarded in the old way': { forward_from: stranger, forward_date: 1 },
    'through another bot': { via_bot: { id: 5, is_bot: true, first_name: 'inline' } },
    'for a chat': { sender_chat: group },
    'for a business': { business_connection_id: 'b' },
    'by the bot of a business': { sender_business_bot: { id: 6, is_bot: true, first_name: 'b' } },
    'in a group': { chat: group },
    'in a group by a stranger': { chat: group, from: stranger },
    'in a group with the number of the person': { chat: { ...group, id } },
    'in the private chat of another': { chat: { id: 666, type: 'private' } },
    'by a stranger in the private chat': { from: stranger },
    'by a bot': { from: { ...user, is_bot: true } },
    'without a sender': { from: undefined },
  }
}

function nextMessageId(): number {
  lastMessageId += 1
  return lastMessageId
}

function now(): number {
  return Math.floor(Date.now() / 1_000)
}
