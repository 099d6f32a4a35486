import { assertNever } from '../../../domain/errors.ts'
import type { TelegramControl } from '../../../domain/settings.ts'
import type { DaemonControl } from '../../../engine/daemon.ts'
import type { RuntimeEvent } from '../../../journal/runtime-event.ts'
import type { Clock } from '../../../ports.ts'
import type { Why } from '../../../ui/page/model.ts'
import type { Outbox } from '../replies-outbox.ts'
import type { Hearing } from '../updates.ts'
import type { Incoming, Speaker } from '../wire.ts'
import { haltedNowText, helpText, pausedText, staleText } from './command-answers.ts'
import { type RemoteCommand, readCommand } from './commands.ts'
import { byOf, type From, namesOf, type Take, Voice } from './reply.ts'
import { Resumption } from './resumption.ts'
import { type RemoteSight, statusText } from './status-text.ts'
import { whyText } from './why-text.ts'
import { doneWithin } from './within.ts'

export type MessageHandlerInput = {
  readonly settings: Pick<TelegramControl, 'chats' | 'resume'>
  readonly control: Pick<DaemonControl, 'pause' | 'resume' | 'halt'>
  /** Puts the file HALT into the state directory, for when the journal cannot say it. Gives why it could not. */
  readonly haltByFile: (words: string) => string | undefined
  readonly sight: () => RemoteSight
  /** What the journal holds about a slot; undefined where it holds nothing. May reject. */
  readonly why: (slot: string) => Promise<Why | undefined>
  readonly outbox: Pick<Outbox, 'put'>
  /** Six unpredictable digits. */
  readonly code: () => string
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  readonly observe: (event: RuntimeEvent) => void
}

/** A message that was on its way for longer is not obeyed, but for a halt. */
const AGE_MS_MAX = 60_000
/** Commands of one person in a minute. */
const PER_MINUTE = 20
const MINUTE_MS = 60_000
const PRESSED = /^resume (\d{6})$/

type Message = Extract<Incoming, { tag: 'message' }>
type Press = Extract<Incoming, { tag: 'press' }>
/** What goes by age and number. */
type Allowed = Exclude<RemoteCommand, { readonly tag: 'halt' }>

/**
 * Commands from a phone: status, pause, halt, and resume after a second question. People who are not in the config get no
 * answer. It never rejects, and does not wait for answers to be delivered.
 */
export class MessageHandler implements Pick<Hearing, 'hear' | 'passOver'> {
  readonly #input: MessageHandlerInput
  readonly #voice: Voice
  readonly #resumption: Resumption
  /** When each person gave commands in the last minute. Only people whom the config names, so that it stays small. */
  readonly #given = new Map<number, number[]>()
  /** One slot at a time: it reads files. */
  #isLookingUp = false

  constructor(input: MessageHandlerInput) {
    this.#input = input
    this.#voice = new Voice(input.outbox, input.observe)
    this.#resumption = new Resumption({ ...input, voice: this.#voice })
  }

  async hear(incoming: Incoming, take: Take): Promise<void> {
    try {
      await this.#handle(incoming, take)
    } catch (error) {
      // Whatever is wrong with a message, the next one may be a halt.
      const detail = `a message to the Telegram bot could not be attended: ${messageOf(error)}`
      this.#voice.noteOther('refused', undefined, detail)
    }
  }

  passOver(incoming: Incoming): void {
    const user = incoming.tag === 'other' ? undefined : incoming.speaker.user
    this.#voice.noteOther('replayed', user, 'passed over a message that was heard before')
  }

  async #handle(incoming: Incoming, take: Take): Promise<void> {
    if (incoming.tag === 'other') {
      this.#voice.noteOther('unreadable', undefined, 'passed over what is no message')
      return
    }
    const { speaker } = incoming
    const from = this.#listed(speaker)
    if (from === undefined) this.#voice.noteOther('stranger', speaker.user, strangerText(speaker))
    else if (incoming.tag === 'press') await this.#press(incoming, from, take)
    else await this.#message(incoming, from, take)
  }

  /** The private chat of a person in the config: no one else can write there. */
  #listed({ user, isBot, chat, isPrivate }: Speaker): From | undefined {
    const isOwn = user !== undefined && !isBot && isPrivate && chat === user
    return isOwn && this.#input.settings.chats.includes(user) ? { user, chat } : undefined
  }

  async #message(message: Message, from: From, take: Take): Promise<void> {
    const { dateSeconds } = message
    const command = commandIn(message)
    const delayMs = this.#input.clock.now() - dateSeconds * 1_000
    const isLate = Math.abs(delayMs) > AGE_MS_MAX
    if (command.tag !== 'code' || isLate) this.#resumption.drop(from)
    if (command.tag === 'halt') await this.#halt(from, take, delayMs)
    else if (!(await this.#mayGoOn(from, take))) return
    else if (!isLate) await this.#obey(command, from, take)
    else {
      await take()
      this.#voice.say(from, staleText(wordOf(command), { dateSeconds, delayMs }))
      this.#voice.note('stale', from, 'sent a message that came too late')
    }
  }

  async #obey(command: Allowed, from: From, take: Take): Promise<void> {
    if (command.tag === 'code') {
      const { said } = await this.#resumption.confirm(command.code, from, take)
      this.#voice.say(from, said)
      return
    }
    await take()
    switch (command.tag) {
      case 'resume':
        this.#resumption.ask(command.strategy, from)
        return
      case 'pause':
        await this.#pause(command.strategy, from)
        return
      case 'why':
        this.#lookUp(command.slot, from)
        return
      case 'status':
      case 'help':
        this.#answer(command.tag, from)
        return
      case 'unknown':
        this.#voice.refuse(from, command.hint, 'sent what is no command')
        return
      default:
        assertNever(command)
    }
  }

  /** Without regard to age or number: the more there are, the more somebody wants it. */
  async #halt(from: From, take: Take, delayMs: number): Promise<void> {
    const { control, clock, sight } = this.#input
    const before = sight().state.halted
    const done = await doneWithin(control.halt(byOf(from)), clock)
    if (done.ok) {
      const isNews = done.changed.length > 0
      const view = { halted: before, delayMs, nowMs: clock.now() }
      this.#voice.say(from, haltedNowText(done, view))
      const what = isNews ? 'halted everything' : 'asked to halt what was halted already'
      this.#voice.note(isNews ? 'obeyed' : 'answered', from, what)
    } else if ('late' in done) {
      this.#voice.say(from, `Halting, but ${done.detail}. Nothing new is signed meanwhile.`)
      this.#voice.note('obeyed', from, `asked to halt: ${done.detail}`)
    } else this.#haltByFile(from, done.detail)
    // Not before: one that is heard twice does no harm, and one that is lost does.
    await take()
  }

  /** The journal is not the only way: every signature asks for the file as well. */
  #haltByFile(from: From, detail: string): void {
    const fault = this.#input.haltByFile(`halted by ${byOf(from)}`)
    const held = fault === undefined ? 'The file HALT holds instead' : `NOT HALTED: ${fault}`
    this.#voice.say(from, `The journal did not take the halt (${detail}). ${held}.`)
    this.#voice.note('obeyed', from, `asked to halt: ${detail}; ${held}`)
  }

  async #pause(strategy: string | undefined, from: From): Promise<void> {
    const { control, clock } = this.#input
    const done = await doneWithin(control.pause(strategy, byOf(from)), clock)
    if (done.ok) {
      this.#voice.say(from, pausedText(done, { strategy, nowMs: clock.now() }))
      this.#voice.note('obeyed', from, `paused ${namesOf(done.changed)}`)
    } else this.#voice.refuse(from, done.detail, 'asked for a pause in vain')
  }

  async #press({ data, queryId, messageId }: Press, from: From, take: Take): Promise<void> {
    if (!(await this.#mayGoOn(from, take))) return
    const code = PRESSED.exec(data)?.[1] ?? ''
    const { isDone, said } = await this.#resumption.confirm(code, from, take)
    this.#voice.put({ tag: 'press', queryId, text: isDone ? 'Resumed.' : 'Not resumed.' })
    this.#voice.put({ tag: 'edit', chat: from.chat, messageId, text: said })
  }

  #answer(what: 'status' | 'help', from: From): void {
    const { settings, sight, clock } = this.#input
    const text = what === 'help' ? helpText(settings.resume) : statusText(sight(), clock.now())
    this.#voice.say(from, text)
    this.#voice.note('answered', from, `asked for ${what}`)
  }

  /** Not waited for: a halt may come next. */
  #lookUp(slot: string, from: From): void {
    this.#voice.note('answered', from, 'asked for a slot')
    if (this.#isLookingUp) {
      this.#voice.say(from, 'I am still looking up another slot.')
      return
    }
    this.#isLookingUp = true
    void this.#input
      .why(slot)
      .then((why) => (why === undefined ? `The journal has nothing about ${slot}.` : whyText(why)))
      .catch((error: unknown) => `I could not look it up: ${messageOf(error)}`)
      .then((text) => {
        this.#isLookingUp = false
        this.#voice.say(from, text)
      })
  }

  /** Whether this person may still give commands in this minute. */
  async #mayGoOn(from: From, take: Take): Promise<boolean> {
    const nowMs = this.#input.clock.now()
    const recent = (this.#given.get(from.user) ?? []).filter(
      (atMs) => atMs <= nowMs && nowMs - atMs < MINUTE_MS,
    )
    this.#given.set(from.user, recent)
    if (recent.length < PER_MINUTE) {
      recent.push(nowMs)
      return true
    }
    // The first that is refused is worth an answer, and those that follow are not.
    if (recent.length === PER_MINUTE) {
      recent.push(nowMs)
      await take()
      this.#voice.say(from, 'Too many at once: I listen again in a minute. /halt always works.')
    }
    this.#voice.note('flood', from, 'gives more commands than are listened to')
    return false
  }
}

/** A forwarded message is someone else's word. */
function commandIn({ text, isSecondHand }: Message): RemoteCommand {
  if (isSecondHand)
    return { tag: 'unknown', hint: 'I obey only what you write yourself, nothing forwarded.' }
  if (text === undefined) return { tag: 'unknown', hint: 'I read text alone. /help says which.' }
  return readCommand(text)
}

/** Names the numbers that the config needs, for setting it up. */
function strangerText({ user, chat, isPrivate }: Speaker): string {
  const who = user === undefined ? 'somebody' : `Telegram user ${user}`
  const where = isPrivate
    ? 'who is not in control.telegram.chats'
    : `in chat ${chat}, where others can write too`
  return `not listened to: ${who}, ${where}`
}

function wordOf({ tag }: RemoteCommand): string {
  return tag === 'code' || tag === 'unknown' ? 'message' : `/${tag}`
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
