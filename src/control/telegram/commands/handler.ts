import { assertNever, messageOf } from '../../../domain/errors.ts'
import { doneWithin } from '../../stops.ts'
import type { Hearing } from '../updates.ts'
import type { Incoming, Speaker } from '../wire.ts'
import { haltedNowText, helpText, pausedText, staleText } from './command-answers.ts'
import { type RemoteCommand, readCommand } from './commands.ts'
import { byOf, type From, type HandlerInput, namesOf, type Take, Voice } from './reply.ts'
import { Resumption } from './resumption.ts'
import { statusText, whyText } from './status-text.ts'

/** Older messages are ignored, except a halt. */
const AGE_MS_MAX = 60_000
/** Commands per person per minute. */
const PER_MINUTE = 20
const MINUTE_MS = 60_000
const PRESSED = /^resume (\d{6})$/

type Message = Extract<Incoming, { tag: 'message' }>
type Press = Extract<Incoming, { tag: 'press' }>
/** Commands subject to limits of age and rate. */
type Allowed = Exclude<RemoteCommand, { readonly tag: 'halt' }>

/**
 * Handles commands from a phone: status, pause, halt, and resume after a confirmation. People outside the config get no
 * answer. Never rejects, and does not wait for delivery of answers.
 */
export class MessageHandler implements Pick<Hearing, 'hear' | 'passOver'> {
  readonly #input: HandlerInput
  readonly #voice: Voice
  readonly #resumption: Resumption
  /** Times of each person's commands in the last minute. Bounded by the number of people in the config. */
  readonly #given = new Map<number, number[]>()
  /** One lookup at a time, because it reads files. */
  #isLookingUp = false

  constructor(input: HandlerInput) {
    this.#input = input
    this.#voice = new Voice(input)
    this.#resumption = new Resumption(input, this.#voice)
  }

  async hear(incoming: Incoming, take: Take): Promise<void> {
    try {
      await this.#handle(incoming, take)
    } catch (error) {
      // A faulty message must not block the next one, which may be a halt.
      const detail = `a message to the Telegram bot could not be handled: ${messageOf(error)}`
      this.#voice.noteOther('refused', undefined, detail)
    }
  }

  passOver(incoming: Incoming): void {
    const user = incoming.tag === 'other' ? undefined : incoming.speaker.user
    this.#voice.noteOther('replayed', user, 'passed over a message that was heard before')
  }

  async #handle(incoming: Incoming, take: Take): Promise<void> {
    if (incoming.tag === 'other')
      return this.#voice.noteOther('unreadable', undefined, 'passed over what is no message')
    const { speaker } = incoming
    const from = this.#listed(speaker)
    if (from === undefined) this.#voice.noteOther('stranger', speaker.user, strangerText(speaker))
    else if (incoming.tag === 'press') await this.#press(incoming, from, take)
    else await this.#message(incoming, from, take)
  }

  /** Accepts only the private chat of a person in the config: no one else can write there. */
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
      this.#voice.say(from, staleText(labelOf(command), dateSeconds, delayMs))
      this.#voice.note('stale', from, 'sent a message that came too late')
    }
  }

  async #obey(command: Allowed, from: From, take: Take): Promise<void> {
    if (command.tag === 'code') {
      const { said } = await this.#resumption.confirm(command.code, from, take)
      return this.#voice.say(from, said)
    }
    await take()
    switch (command.tag) {
      case 'resume':
        return this.#resumption.ask(command.strategy, from)
      case 'pause':
        return this.#pause(command.strategy, from)
      case 'why':
        return this.#lookUp(from, 'a slot', () => this.#why(command.slot))
      case 'daily':
        return this.#lookUp(from, 'the days', this.#input.money.daily)
      case 'profit':
        return this.#lookUp(from, 'the profit', this.#input.money.profit)
      case 'fills':
        return this.#lookUp(from, 'fills', () => this.#input.money.fills(command.count))
      case 'balance':
      case 'status':
      case 'help':
        return this.#answer(command.tag, from)
      case 'unknown':
        return this.#voice.refuse(from, command.hint, 'sent what is no command')
      default:
        return assertNever(command)
    }
  }

  /** Works at any age and rate: repeated halts mean that someone really wants one. */
  async #halt(from: From, take: Take, delayMs: number): Promise<void> {
    const { control, clock, snapshot } = this.#input
    const before = snapshot().state.halted
    const done = await doneWithin(control.halt(byOf(from)), clock)
    if (done.ok) {
      this.#voice.say(from, haltedNowText(done, { halted: before, delayMs, nowMs: clock.now() }))
      if (done.changed.length > 0) this.#voice.note('obeyed', from, 'halted everything')
      else this.#voice.note('answered', from, 'asked to halt what was halted already')
    } else if ('late' in done) {
      this.#voice.say(from, `Halting, but ${done.detail}. Nothing new is signed meanwhile.`)
      this.#voice.note('obeyed', from, `asked to halt: ${done.detail}`)
    } else this.#haltByFile(from, done.detail)
    // Last, because a repeated halt does no harm, but a lost one does.
    await take()
  }

  /** Every signature checks this file as well as the journal. */
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

  #answer(what: 'status' | 'help' | 'balance', from: From): void {
    const { settings, snapshot, money, clock } = this.#input
    const texts = {
      help: () => helpText(settings.resume),
      status: () => statusText(snapshot(), clock.now()),
      balance: () => money.balance(),
    }
    this.#voice.say(from, texts[what]())
    this.#voice.note('answered', from, `asked for ${what}`)
  }

  /** Runs in the background, because a halt may come next. */
  #lookUp(from: From, what: string, find: () => Promise<string>): void {
    this.#voice.note('answered', from, `asked for ${what}`)
    if (this.#isLookingUp) {
      this.#voice.say(from, 'I am still looking up something else.')
      return
    }
    this.#isLookingUp = true
    void find()
      .catch((error: unknown) => `I could not look it up: ${messageOf(error)}`)
      .then((text) => {
        this.#isLookingUp = false
        this.#voice.say(from, text)
      })
  }

  async #why(slot: string): Promise<string> {
    const why = await this.#input.why(slot)
    return why === undefined ? `The journal has nothing about ${slot}.` : whyText(why)
  }

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
    // Only the first refused command gets an answer.
    if (recent.length === PER_MINUTE) {
      recent.push(nowMs)
      await take()
      this.#voice.say(from, 'Too many at once: I listen again in a minute. /halt always works.')
    }
    this.#voice.note('flood', from, 'gives more commands than are listened to')
    return false
  }
}

/** A forwarded message is another person's text. */
function commandIn({ text, isSecondHand }: Message): RemoteCommand {
  if (isSecondHand)
    return { tag: 'unknown', hint: 'I obey only what you write yourself, nothing forwarded.' }
  if (text === undefined) return { tag: 'unknown', hint: 'I read text alone. /help says which.' }
  return readCommand(text)
}

/** Names the user and chat numbers that the config needs. */
function strangerText({ user, chat, isPrivate }: Speaker): string {
  const who = user === undefined ? 'somebody' : `Telegram user ${user}`
  const where = isPrivate
    ? 'who is not in control.telegram.chats'
    : `in chat ${chat}, where others can write too`
  return `not listened to: ${who}, ${where}`
}

function labelOf({ tag }: RemoteCommand): string {
  return tag === 'code' || tag === 'unknown' ? 'message' : `/${tag}`
}
