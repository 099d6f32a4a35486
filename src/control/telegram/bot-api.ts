import type { ApiMethods } from '@grammyjs/types'
import { errors, Pool } from 'undici'
import { outsideText } from '../../domain/text/outside-text.ts'
import { exchangeText } from '../../system/exchange.ts'
import type { Reading } from '../../system/read-json.ts'
import { createScrubber } from '../../system/scrubber.ts'
import {
  type BotEnvelope,
  readBot,
  readDone,
  readEnvelope,
  readSent,
  readUpdates,
  tokenSecrets,
} from './wire.ts'

/** Parameters of a method, as the published types of the Bot API have them. */
export type BotParams<Method extends keyof ApiMethods<never>> = NonNullable<
  Parameters<ApiMethods<never>[Method]>[0]
>

/**
 * What became of a request. `final`: Telegram itself refused it, and the same request will be refused again; anything else
 * may go better later, and may even have taken effect.
 */
export type BotReply<Value> =
  | { readonly ok: true; readonly value: Value }
  | {
      readonly ok: false
      readonly final: boolean
      /** Telegram's `error_code`: 401 for a wrong token, 409 when somebody else polls. Nothing where not Telegram spoke. */
      readonly code?: number
      /** How long Telegram wants to be left alone: up to a day, in milliseconds. */
      readonly retryAfterMs?: number
      /** One line that is fit for a log. */
      readonly fault: string
    }

/** The methods in use of one bot. Each is one bounded exchange without retries or redirects, and none rejects. */
export type BotApi = {
  getMe(): Promise<BotReply<{ readonly id: number; readonly username: string | undefined }>>
  sendMessage(params: BotParams<'sendMessage'>): Promise<BotReply<{ readonly messageId: number }>>
  editMessageText(params: BotParams<'editMessageText'>): Promise<BotReply<undefined>>
  answerCallbackQuery(params: BotParams<'answerCallbackQuery'>): Promise<BotReply<undefined>>
  /** Waits for `timeout` seconds at Telegram's, and as long as any other request beyond that. */
  getUpdates(params: BotParams<'getUpdates'>): Promise<BotReply<readonly unknown[]>>
  /** Ends at once what is under way, and takes nothing more. */
  close(): Promise<void>
}

export type BotApiOptions = {
  /** `<bot id>:<secret>`, as BotFather gives it. It is a part of every address, and of no message. */
  readonly token: string
  /** Where the Bot API is; a path is kept. Default `https://api.telegram.org`. */
  readonly apiRoot?: string
  /** For a whole exchange, from connecting to the last byte. Default 10,000. */
  readonly timeoutMs?: number
}

/** A message may be this long, in UTF-16 units. What is longer is cut: Telegram would refuse it whole. */
export const MESSAGE_LENGTH_MAX = 4_096

const API_ROOT = 'https://api.telegram.org'
const TIMEOUT_MS = 10_000
const ANSWER_BYTES_MAX = 64 * 1024
/** A hundred updates of the longest texts, with what they answer to, stay far below. */
const UPDATES_BYTES_MAX = 8 * 1024 * 1024
/** One for the long poll, the rest for what is sent meanwhile. */
const CONNECTIONS_MAX = 4
const RETRY_AFTER_MS_MAX = 86_400_000
const TOKEN = /^\d{1,20}:[\w-]{8,100}$/
/** Refusals that pass: somebody else polls, or too much was sent. */
const PASSING_CODES: readonly number[] = [408, 409, 429]

type Method = Exclude<keyof BotApi, 'close'>
type Bounds = { readonly bytesMax: number; readonly timeoutMs: number }

/** Talks to one bot's address. Throws TypeError for a token or a root that cannot be used, without quoting either. */
export function createBotApi(options: BotApiOptions): BotApi {
  const { token, apiRoot = API_ROOT, timeoutMs = TIMEOUT_MS } = options
  if (!TOKEN.test(token)) throw new TypeError('the bot token is none that BotFather gives')
  if (!URL.canParse(apiRoot)) throw new TypeError('the root of the Bot API is no URL')
  const { origin, pathname } = new URL(apiRoot)
  const prefix = `${pathname.replace(/\/+$/, '')}/bot${token}`
  // The exchange has one deadline for all of it.
  const pool = new Pool(origin, { connections: CONNECTIONS_MAX, headersTimeout: 0, bodyTimeout: 0 })
  const scrubber = createScrubber()
  for (const secret of tokenSecrets(token)) scrubber.add(secret)
  const usual: Bounds = { bytesMax: ANSWER_BYTES_MAX, timeoutMs }

  async function ask<Value>(
    method: Method,
    params: object,
    read: (result: unknown) => Reading<Value>,
    bounds = usual,
  ): Promise<BotReply<Value>> {
    const answer = await exchange(method, params, bounds)
    if (!answer.ok) return { ok: false, final: false, fault: answer.fault }
    const { statusCode } = answer
    const envelope = readEnvelope(answer.text)
    // What is between us and Telegram (a proxy, a login page) may answer anything: that is not Telegram's word.
    if (!envelope.ok) return { ok: false, final: false, fault: `HTTP ${statusCode}, not Telegram` }
    if (!envelope.value.ok) return refusal(envelope.value)
    const value = read(envelope.value.result)
    if (value.ok) return value
    return { ok: false, final: false, fault: `an unreadable answer, ${value.fault}` }
  }

  async function exchange(method: Method, params: object, bounds: Bounds): Promise<Answer> {
    const request = {
      method: 'POST',
      path: `${prefix}/${method}`,
      headers: { 'content-type': 'application/json', 'user-agent': 'tranched' },
      body: JSON.stringify(params),
    } as const
    try {
      return { ok: true, ...(await exchangeText(pool, { request, ...bounds })) }
    } catch (error) {
      return { ok: false, fault: faultOf(error) }
    }
  }

  function refusal({
    error_code: code,
    description,
    parameters,
  }: Extract<BotEnvelope, { ok: false }>): BotReply<never> {
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
    getMe: () => ask('getMe', {}, readBot),
    sendMessage: (params) =>
      ask('sendMessage', { ...params, text: fitting(params.text) }, readSent),
    editMessageText: ({ text, ...params }) =>
      ask('editMessageText', { ...params, text: fitting(text ?? '') }, readDone),
    answerCallbackQuery: (params) => ask('answerCallbackQuery', params, readDone),
    getUpdates: (params) =>
      ask('getUpdates', params, readUpdates, {
        bytesMax: UPDATES_BYTES_MAX,
        timeoutMs: timeoutMs + (params.timeout ?? 0) * 1_000,
      }),
    close: () => pool.destroy(),
  }
}

function fitting(text: string): string {
  if (text.length <= MESSAGE_LENGTH_MAX) return text
  // Half of a pair of units is no character, and Telegram takes no such text.
  return `${text.slice(0, MESSAGE_LENGTH_MAX - 3).replace(/[\ud800-\udbff]$/, '')}...`
}

type Answer =
  | { readonly ok: true; readonly statusCode: number; readonly text: string }
  | { readonly ok: false; readonly fault: string }

/** Only the code: the message of a network error names the address. */
function faultOf(error: unknown): string {
  if (error instanceof errors.BodyTimeoutError) return 'no answer in time'
  if (error instanceof errors.ResponseExceededMaxSizeError) return 'too long an answer'
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' && /^\w{1,40}$/.test(code) ? code : 'request failed'
}
