import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { UpdateQueue } from './update-queue.ts'

/** A message that the bot sent, in its current form. */
export type SentMessage = {
  readonly chat: number
  readonly messageId: number
  text: string
  /** Callback data of its buttons. */
  buttons: readonly string[]
  edits: number
}

/** Telegram's condition: fine, silent, cutting connections, answering with a proxy's page, or with a flood limit. */
export type Mood =
  | 'well'
  | 'silent'
  | 'cut'
  | 'bad gateway'
  | { readonly tag: 'flood'; readonly retryAfterSeconds: number; readonly times: number }

export type BotApiServer = {
  readonly apiRoot: string
  readonly token: string
  readonly updates: UpdateQueue
  /** Wakes waiting polls. Call it after queueing something. */
  deliver(): void
  /** All messages of the bot, oldest first. */
  readonly sent: SentMessage[]
  /** Answers to button presses. */
  readonly pressed: string[]
  /** Method names of all requests so far, and the offsets of polls. */
  readonly requests: string[]
  readonly offsets: (number | undefined)[]
  /** Polls that the client gave up before they were answered. */
  cutPolls(): number
  /** Chats whose person blocked the bot. */
  readonly blocked: Set<number>
  /** A press that the bot may answer. */
  readonly presses: Set<string>
  /** For sending and for polling. */
  setMood(mood: Mood, of?: 'all' | 'sending' | 'polling'): void
  /** Rejects every token from now on. */
  revoke(): void
  close(): Promise<void>
}

/** A poll that waits for updates. */
type Poll = {
  readonly wake: () => void
  readonly end: () => void
  readonly finish: (outcome: Outcome) => void
}

type Params = Readonly<Record<string, unknown>>
type Failure = { readonly code: number; readonly description: string; readonly retryAfter?: number }
type Outcome = { readonly result: unknown } | Failure

const TEXT_MAX = 4_096
const UNAUTHORIZED: Failure = { code: 401, description: 'Unauthorized' }
const TOKEN = /^\d+:[\w-]{35}$/
const PATH = /^\/bot([^/]*)\/([^/?]*)/
/** Half of a UTF-16 surrogate pair. */
const HALF = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/
const CONFLICT =
  'Conflict: terminated by other getUpdates request; make sure that only one bot instance is running'
/** Telegram answers only one conflict at once within this time. */
const CONFLICT_EVERY_MS = 3_000

/** The part of Telegram's Bot API that our bot needs, on loopback, by the rules of Telegram's own server. */
export async function startBotApi(options: {
  readonly token: string
  readonly firstUpdate?: number
}): Promise<BotApiServer> {
  const { token, firstUpdate = 1_000 } = options
  const updates = new UpdateQueue(firstUpdate)
  const sent: SentMessage[] = []
  const pressed: string[] = []
  const requests: string[] = []
  const offsets: (number | undefined)[] = []
  let cutPolls = 0
  const blocked = new Set<number>()
  const presses = new Set<string>()
  const moods: Record<'sending' | 'polling', Mood> = { sending: 'well', polling: 'well' }
  let isRevoked = false
  let poll: Poll | undefined
  let conflictAtMs = Number.NEGATIVE_INFINITY
  let lastMessageId = 0

  function failureOf(mood: Mood): Failure | undefined {
    if (typeof mood !== 'object') return undefined
    if (mood.times <= 0) return undefined
    const { retryAfterSeconds } = mood
    const description = `Too Many Requests: retry after ${retryAfterSeconds}`
    return { code: 429, description, retryAfter: retryAfterSeconds }
  }

  function spendMood(of: 'sending' | 'polling'): Mood {
    const mood = moods[of]
    if (typeof mood === 'object') moods[of] = { ...mood, times: mood.times - 1 }
    return mood
  }

  function sendMessage(params: Params): Outcome {
    const chat = Number(params['chat_id'])
    if (blocked.has(chat))
      return { code: 403, description: 'Forbidden: bot was blocked by the user' }
    const fault = textFault(params)
    if (fault !== undefined) return fault
    lastMessageId += 1
    const text = String(params['text'])
    sent.push({ chat, messageId: lastMessageId, text, buttons: buttonsIn(params), edits: 0 })
    return { result: { message_id: lastMessageId, date: nowSeconds(), chat: { id: chat }, text } }
  }

  function editMessageText(params: Params): Outcome {
    const { chat_id, message_id } = params
    const message = sent.find(({ chat, messageId }) => chat === chat_id && messageId === message_id)
    if (message === undefined) return badRequest('message to edit not found')
    const fault = textFault(params)
    if (fault !== undefined) return fault
    const text = String(params['text'])
    const buttons = buttonsIn(params)
    if (text === message.text && buttons.join() === message.buttons.join())
      return badRequest(
        'message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message',
      )
    Object.assign(message, { text, buttons, edits: message.edits + 1 })
    return { result: { message_id, date: nowSeconds(), chat: { id: chat_id }, text } }
  }

  function answerCallbackQuery(params: Params): Outcome {
    const id = String(params['callback_query_id'])
    if (!presses.delete(id))
      return badRequest('query is too old and response timeout expired or query ID is invalid')
    pressed.push(String(params['text'] ?? ''))
    return { result: true }
  }

  function getUpdates(params: Params, response: ServerResponse): void {
    const offset = params['offset'] === undefined ? undefined : Number(params['offset'])
    offsets.push(offset)
    const allowed = Array.isArray(params['allowed_updates']) ? params['allowed_updates'] : undefined
    const limit = Number(params['limit'] ?? 100)
    const take = () => updates.take({ offset: offset ?? 0, limit, allowed })
    const timeoutMs = Number(params['timeout'] ?? 0) * 1_000
    const found = take()
    if (found.length > 0 || timeoutMs <= 0) {
      answer(response, { result: found })
      return
    }
    poll?.end()
    const finish = (outcome: Outcome): void => {
      clearTimeout(timer)
      if (poll === own) poll = undefined
      answer(response, outcome)
    }
    const timer = setTimeout(() => finish({ result: [] }), timeoutMs)
    const own: Poll = {
      finish,
      wake: () => {
        const now = take()
        if (now.length > 0) finish({ result: now })
      },
      end: () => {
        clearTimeout(timer)
        const restMs = Math.max(0, conflictAtMs + CONFLICT_EVERY_MS - performance.now())
        conflictAtMs = performance.now()
        const late = restMs > 0 ? CONFLICT_EVERY_MS : 0
        setTimeout(() => answer(response, { code: 409, description: CONFLICT }), late).unref()
      },
    }
    response.on('close', () => {
      clearTimeout(timer)
      if (!response.writableEnded) cutPolls += 1
      if (poll === own) poll = undefined
    })
    poll = own
  }

  const methods: Readonly<Record<string, (params: Params) => Outcome>> = {
    getme: () => ({ result: { id: Number(token.split(':')[0]), is_bot: true, username: 'a_bot' } }),
    sendmessage: sendMessage,
    editmessagetext: editMessageText,
    answercallbackquery: answerCallbackQuery,
  }

  function authFault(given: string): Failure | undefined {
    if (!TOKEN.test(given)) return { code: 404, description: 'Not Found' }
    return isRevoked || given !== token ? UNAUTHORIZED : undefined
  }

  function call(name: string, params: Params, response: ServerResponse): void {
    const act = methods[name]
    if (name === 'getupdates') getUpdates(params, response)
    else answer(response, act?.(params) ?? { code: 404, description: 'Not Found' })
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, given = '', method = ''] = PATH.exec(request.url ?? '') ?? []
    const params = ((await json(request).catch(() => undefined)) ?? {}) as Params
    const name = method.toLowerCase()
    requests.push(method)
    const fault = authFault(given)
    if (fault !== undefined) {
      answer(response, fault)
      return
    }
    const mood = spendMood(name === 'getupdates' ? 'polling' : 'sending')
    const failure = failureOf(mood)
    if (failure !== undefined) answer(response, failure)
    else if (!isUnwell(mood, response)) call(name, params, response)
  }

  const server = createServer((request, response) => void handle(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    apiRoot: `http://127.0.0.1:${port}`,
    token,
    updates,
    deliver: () => poll?.wake(),
    sent,
    pressed,
    requests,
    offsets,
    cutPolls: () => cutPolls,
    blocked,
    presses,
    setMood(mood, of = 'all') {
      if (of !== 'polling') moods.sending = mood
      if (of !== 'sending') moods.polling = mood
    },
    revoke() {
      isRevoked = true
      poll?.finish(UNAUTHORIZED)
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Handles a request in the way of a failing Telegram. */
function isUnwell(mood: Mood, response: ServerResponse): boolean {
  if (mood === 'cut') response.socket?.destroy()
  if (mood === 'bad gateway')
    response.writeHead(502, { 'content-type': 'text/html' }).end('<html>502 Bad Gateway</html>')
  return mood === 'silent' || mood === 'cut' || mood === 'bad gateway'
}

function answer(response: ServerResponse, outcome: Outcome): void {
  if (response.writableEnded || response.destroyed) return
  const isOk = 'result' in outcome
  const status = isOk ? 200 : outcome.code
  const body = isOk ? { ok: true, ...outcome } : refusal(outcome)
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

function refusal({ code, description, retryAfter }: Failure): object {
  const parameters = retryAfter === undefined ? {} : { parameters: { retry_after: retryAfter } }
  return { ok: false, error_code: code, description, ...parameters }
}

function badRequest(what: string): Failure {
  return { code: 400, description: `Bad Request: ${what}` }
}

/** Telegram's errors for a text, with or without a parse mode. */
function textFault({ text, parse_mode: mode }: Params): Failure | undefined {
  if (typeof text !== 'string' || text.trim() === '') return badRequest('message text is empty')
  if (text.length > TEXT_MAX) return badRequest('message is too long')
  if (HALF.test(text)) return badRequest('strings must be encoded in UTF-8')
  if (mode === undefined) return undefined
  if (mode === 'HTML') {
    const open = /<(b|i|code|pre|a)\b[^>]*>(?!.*<\/\1>)/s.exec(text)?.[1]
    const what = `can't parse entities: Can't find end tag corresponding to start tag "${open}"`
    return open === undefined ? undefined : badRequest(what)
  }
  if (mode === 'MarkdownV2') {
    const bare = /(?<!\\)[.!\-+=#|{}()>]/.exec(text)?.[0]
    const what = `can't parse entities: Character '${bare}' is reserved and must be escaped with the preceding '\\'`
    return bare === undefined ? undefined : badRequest(what)
  }
  return badRequest('unsupported parse_mode')
}

function buttonsIn({ reply_markup: markup }: Params): readonly string[] {
  const rows = (markup as { inline_keyboard?: { callback_data: string }[][] } | undefined)
    ?.inline_keyboard
  return (rows ?? []).flat().map(({ callback_data }) => callback_data)
}

function nowSeconds(): number {
  return Math.floor(Date.now() / 1_000)
}
