import { relative, resolve } from 'node:path'
import type { Log } from '../../adapters/tell/log.ts'
import type { Settings } from '../../domain/settings.ts'
import type { Strategy } from '../../domain/strategy.ts'
import type { Agenda } from '../../engine/tick.ts'
import { describeSchedule, describeStrategy, durationText, instantText } from '../describe.ts'
import { DEFAULT_CONFIG } from '../io.ts'

export type Announcement = {
  readonly log: Log
  readonly settings: Settings
  readonly strategies: readonly Strategy[]
  readonly agenda: Agenda
  /** Base URL of what is served. */
  readonly servedAt: string
  /** What is typed to start the program that this is. */
  readonly program: string
  readonly nowMs: number
}

/** What a person wants to see right after a start: where things are, what is scheduled, and when it is next due. */
export function announce(input: Announcement): void {
  const { log, settings, strategies, agenda, servedAt, program, nowMs } = input
  log.info(`state in ${settings.stateDir}`)
  log.info(
    `gasless service ${new URL(settings.gasless.baseUrl).origin}, chain ${settings.gasless.chain}`,
  )
  log.info(`metrics at ${servedAt}/metrics`)
  if (settings.http.page) log.info(`page at ${servedAt}/`)
  for (const strategy of strategies) {
    const what = describeStrategy(strategy)
    const next = strategy.enabled ? nextText(agenda.nextSlotOf(strategy.name), nowMs) : 'disabled'
    log.info(`strategy ${strategy.name}: ${what}, ${describeSchedule(strategy.schedule)}, ${next}`)
  }
  const [first] = strategies
  const config =
    settings.file === resolve(DEFAULT_CONFIG) ? '' : ` --config ${relative('', settings.file)}`
  const tries = ['status', `why ${first?.name ?? 'STRATEGY'}`, 'report']
  const typed = tries.map((words) => `${program} ${words}${config}`)
  log.info(`in another terminal: ${typed.join('; ')}`, { event: 'next-steps' })
}

function nextText(slotSeconds: number | undefined, nowMs: number): string {
  if (slotSeconds === undefined) return 'never due'
  return `next ${instantText(slotSeconds)} (in ${durationText(slotSeconds * 1000 - nowMs)})`
}
