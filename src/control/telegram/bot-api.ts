import type { ApiMethods } from '@grammyjs/types'
import { errors, Pool } from 'undici'
import type { ZodType } from 'zod'
import { codeOf } from '../../domain/errors.ts'
import { cutTo, outsideText } from '../../domain/text/outside-text.ts'
import { tokenSecrets } from '../../domain/web-address.ts'
import { exchangeText, type TextAnswer } from '../../system/exchange.ts'
import { readAs, readJson } from '../../system/read-json.ts'
import { createScrubber } from '../../system/scrubber.ts'
import { type BotRefusal, doneSchema, envelopeSchema, sentSchema, updatesSchema } from './wire.ts'

/** Parameters of a method, from the published types of the Bot API. */
type BotParams<Method extends keyof ApiMethods<never>> = NonNullable<
  Parameters<ApiMethods<never>[Method]>[0]
>

/** `final`: Telegram refused the request and will do so again. Otherwise it may succeed later, or has taken effect. */
export type BotReply<Value> =
  | { readonly ok: true; readonly value: Value }
  | {
      readonly ok: false
      readonly final: boolean
      /** Telegram's `error_code`: 401 for a wrong token, 409 if another client polls. */
      readonly code?: number
      /** Wait requested by Telegram; at most a day. */
      readonly retryAfterMs?: number
      /** One line, safe to log. */
      readonly fault: string
    }

export type BotApi = ReturnType<typeof createBotApi>

type BotApiOptions = {
  /** `<bot id>:<secret>`, from BotFather. Part of every URL, never of a message. */
  readonly token: string
  /** Base URL of the Bot API; its path is kept. Default `https://api.telegram.org`. */
  readonly apiRoot?: string
  /** For a whole exchange, from connecting to the last byte. Default 10,000. */
  readonly timeoutMs?: number
}

/** UTF-16 units. Telegram refuses longer messages. */
const MESSAGE_LENGTH_MAX = 4_096

const API_ROOT = 'https://api.telegram.org'
const TIMEOUT_MS = 10_000
const ANSWER_BYTES_MAX = 64 * 1024
/** A hundred updates of maximum length are far smaller. */
const UPDATES_BYTES_MAX = 8 * 1024 * 1024
/** One for the long poll, the rest for messages. */
const CONNECTIONS_MAX = 4
const RETRY_AFTER_MS_MAX = 86_400_000
const TOKEN = /^\d{1,20}:[\w-]{8,100}$/
/** Temporary errors: timeout, another polling client, or too many requests. */
const PASSING_CODES: readonly number[] = [408, 409, 429]

/**
 * Methods of one bot. Each is one bounded exchange without retries or redirects, and never rejects. Throws TypeError for an
 * unusable token or root, without quoting it.
 */
export function createBotApi(options: BotApiOptions) {
  const { token, apiRoot = API_ROOT, timeoutMs = TIMEOUT_MS } = options
  if (!TOKEN.test(token)) throw new TypeError('the bot token is none that BotFather gives')
  if (!URL.canParse(apiRoot)) throw new TypeError('the root of the Bot API is no URL')
  const { origin, pathname } = new URL(apiRoot)
  const prefix = `${pathname.replace(/\/+$/, '')}/bot${token}`
  // `exchangeText` has one deadline for the whole exchange.
  const pool = new Pool(origin, { connections: CONNECTIONS_MAX, headersTimeout: 0, bodyTimeout: 0 })
  const scrubber = createScrubber()
  for (const secret of tokenSecrets(token)) scrubber.add(secret)
  const usual = { bytesMax: ANSWER_BYTES_MAX, timeoutMs }

  async function ask<Value>(
    method: keyof ApiMethods<never>,
    params: object,
    schema: ZodType<Value>,
    bounds = usual,
  ): Promise<BotReply<Value>> {
    const request = {
      method: 'POST',
      path: `${prefix}/${method}`,
      headers: { 'content-type': 'application/json', 'user-agent': 'tranched' },
      body: JSON.stringify(params),
    } as const
    let answer: TextAnswer
    try {
      answer = await exchangeText(pool, { request, ...bounds })
    } catch (error) {
      return { ok: false, final: false, fault: faultOf(error) }
    }
    const envelope = readJson(envelopeSchema, answer.text)
    // A proxy or login page between us and Telegram may send anything.
    if (!envelope.ok)
      return { ok: false, final: false, fault: `HTTP ${answer.statusCode}, not Telegram` }
    if (!envelope.value.ok) return refusal(envelope.value)
    const value = readAs(schema, envelope.value.result)
    if (value.ok) return value
    return { ok: false, final: false, fault: `an unreadable answer, ${value.fault}` }
  }

  function refusal({ error_code: code, description, parameters }: BotRefusal): BotReply<never> {
    const said = outsideText(scrubber.text(description))
    const wait = parameters?.retry_after
    return {
      ok: false,
      final: code < 500 && !PASSING_CODES.includes(code),
      code,
      ...(wait === undefined ? {} : { retryAfterMs: Math.min(wait * 1_000, RETRY_AFTER_MS_MAX) }),
      fault: said === '' ? `error ${code}` : `error ${code}, ${said}`,
    }
  }

  return {
    sendMessage: (params: BotParams<'sendMessage'>) =>
      ask('sendMessage', { ...params, text: cutTo(params.text, MESSAGE_LENGTH_MAX) }, sentSchema),
    editMessageText({ text = '', ...params }: BotParams<'editMessageText'>) {
      const cut = { ...params, text: cutTo(text, MESSAGE_LENGTH_MAX) }
      return ask('editMessageText', cut, doneSchema)
    },
    answerCallbackQuery: (params: BotParams<'answerCallbackQuery'>) =>
      ask('answerCallbackQuery', params, doneSchema),
    /** Telegram holds the request for up to `timeout` seconds. */
    getUpdates(params: BotParams<'getUpdates'>): Promise<BotReply<readonly unknown[]>> {
      const longMs = timeoutMs + (params.timeout ?? 0) * 1_000
      const bounds = { bytesMax: UPDATES_BYTES_MAX, timeoutMs: longMs }
      return ask('getUpdates', params, updatesSchema, bounds)
    },
    /** Ends pending requests at once; later ones fail. */
    close: () => pool.destroy(),
  }
}

/** Returns only the code, because a network error's message contains the URL. */
function faultOf(error: unknown): string {
  if (error instanceof errors.BodyTimeoutError) return 'no answer in time'
  if (error instanceof errors.ResponseExceededMaxSizeError) return 'too long an answer'
  const code = codeOf(error)
  return code !== undefined && /^\w{1,40}$/.test(code) ? code : 'request failed'
}
