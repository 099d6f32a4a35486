import * as z from 'zod'
import { type Reading, readAs, readJson } from './reading.ts'

/** What the Bot API of Telegram answers (core.telegram.org/bots/api, "Making requests"). Its own words, nothing of ours. */

/** Numbers that it may leave out, and that nothing hangs on, never make an answer unreadable. */
const seconds = z.number().nonnegative().optional().catch(undefined)

const envelopeSchema = z.discriminatedUnion('ok', [
  z.object({ ok: z.literal(true), result: z.unknown() }),
  z.object({
    ok: z.literal(false),
    error_code: z.int(),
    description: z.string().catch(''),
    parameters: z.object({ retry_after: seconds }).optional().catch(undefined),
  }),
])
export type BotEnvelope = z.infer<typeof envelopeSchema>

const sentSchema = z.object({ message_id: z.int() })
const botSchema = z.object({ id: z.int(), username: z.string().optional().catch(undefined) })

/** The envelope around every answer of the Bot API, refusals included. */
export function readEnvelope(text: string): Reading<BotEnvelope> {
  return readJson(envelopeSchema, text)
}

/** Result of `sendMessage`. */
export function readSent(result: unknown): Reading<{ readonly messageId: number }> {
  const sent = readAs(sentSchema, result)
  return sent.ok ? { ok: true, value: { messageId: sent.value.message_id } } : sent
}

/** Result of `getMe`. */
export function readBot(
  result: unknown,
): Reading<{ readonly id: number; readonly username: string | undefined }> {
  const bot = readAs(botSchema, result)
  return bot.ok ? { ok: true, value: { id: bot.value.id, username: bot.value.username } } : bot
}

/** Result of `getUpdates`. Each update is read on its own, so that one of a new kind spoils no other. */
export function readUpdates(result: unknown): Reading<readonly unknown[]> {
  return readAs(z.array(z.unknown()), result)
}

/** Result of methods that answer with `true`, or with something that nobody needs. */
export function readDone(): Reading<undefined> {
  return { ok: true, value: undefined }
}
