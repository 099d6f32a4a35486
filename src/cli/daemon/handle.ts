import { type ControlAnswer, ControlPathError, controlPath } from '../../control/ask-control.ts'
import { type ControlRequest, serveControl } from '../../control/control-socket.ts'
import { watchDirectory } from '../../control/file-watch.ts'
import type { createWatch } from '../../control/probes.ts'
import type { MoneyInput } from '../../control/telegram/commands/money-answers.ts'
import type { StatusSnapshot } from '../../control/telegram/commands/status-text.ts'
import type { Address } from '../../domain/money/units.ts'
import type { IntentId } from '../../domain/order/intent.ts'
import { valueTokenOf } from '../../engine/accounts/portfolio.ts'
import type { DaemonControl } from '../../engine/daemon.ts'
import type { Triggered } from '../../engine/trigger.ts'
import type { Clock } from '../../ports.ts'
import { stateFiles } from '../../store/file/state-files.ts'
import type { Scrubber } from '../../system/scrubber.ts'
import { byRoute } from '../../venues/projections.ts'
import { giveHalt } from '../compose/daemons.ts'
import { manualOrderOf } from '../manual-order.ts'
import type { Io } from '../process/io.ts'
import { createReloader, type Reloader, type ReloadInput, type StaleFiles } from './reload.ts'

export type HandlerInput = Omit<ReloadInput, 'load' | 'control' | 'nowMs'> & {
  readonly loadAgain: ReloadInput['load']
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  readonly scrubber: Scrubber
  readonly io: Io
  readonly snapshot: () => Omit<StatusSnapshot, 'staleSinceMs'>
  readonly journal: MoneyInput['journal']
  readonly readPosted: MoneyInput['readPosted']
  readonly status: MoneyInput['status']
  readonly timezone: string
  readonly watch: Pick<ReturnType<typeof createWatch>, 'probes' | 'waits'>
}

/** Handles an operator's requests to a running daemon: the control socket, changed files, SIGHUP, and remote commands. */
export async function handleRequests(
  input: HandlerInput,
  control: DaemonControl,
): Promise<{ close(): Promise<void> }> {
  const { settings, log, io } = input
  const { clock, loadAgain: load } = input
  const files = createReloader({ ...input, load, control, nowMs: clock.now })
  const onFiles = (): void => {
    files.reload().catch((error: unknown) => log.error('could not reload files', { err: error }))
  }
  const watcher = watchDirectory(settings.strategiesDir, onFiles, (error) =>
    log.warn(`strategy files are not watched, SIGHUP reloads them: ${error.message}`),
  )
  const offHangup = io.onHangup(() => {
    log.info('SIGHUP: reading config and strategy files')
    onFiles()
  })
  const socket = await listen(input, control, files)
  const remote = await listenAfar(input, control, files)
  return {
    async close() {
      watcher.close()
      offHangup()
      await Promise.all([socket?.close(), remote?.close()])
    },
  }
}

/** Loads its modules only if remote control is configured. */
async function listenAfar(
  input: HandlerInput,
  control: DaemonControl,
  files: Reloader,
): Promise<{ close(): Promise<void> } | undefined> {
  const { stateDir, control: afar } = input.settings
  if (afar.telegram === undefined) return undefined
  try {
    const [remotes, { createMoneyAnswers }, { findWhy, slotIn }, search, rows] = await Promise.all([
      import('../../control/telegram/commands/telegram-control.ts'),
      import('../../control/telegram/commands/money-answers.ts'),
      import('../../ui/page/server/why.ts'),
      import('../../ui/page/server/fill-search.ts'),
      import('../../ui/page/server/fill-rows.ts'),
    ])
    const snapshot = (): StatusSnapshot => ({
      ...input.snapshot(),
      staleSinceMs: files.stale()?.sinceMs,
    })
    const { tokens, journal, prices, gasless } = input.settings
    const { scrubber } = input
    const place = { dir: stateFiles(stateDir).journal, archive: journal.archive }
    const hiding = { clean: scrubber.text, value: scrubber.value }
    const closed = new AbortController()
    const explorers = byRoute(() => rows.createExplorer(undefined))
    const money = createMoneyAnswers({
      ...input,
      valueToken: valueTokenOf(prices.values()),
      wallet: gasless.wallet,
      signal: closed.signal,
      async fills(limit) {
        const query = { limit, before: undefined, strategy: undefined }
        const { entries } = await search.searchFills(place, query)
        return entries.map((each) => rows.fillRow(each, explorers))
      },
    })
    const remote = remotes.startRemote({
      ...input,
      money,
      settings: afar.telegram,
      stateDir,
      async why(name) {
        const slot = slotIn(name)
        return slot && findWhy(place, slot, { hiding, tokens: tokens.values() })
      },
      haltByFile: (text) => giveHalt(stateDir, { text, mayMake: false }).fault,
      control,
      snapshot,
    })
    return {
      close() {
        closed.abort()
        return remote.close()
      },
    }
  } catch (error) {
    input.log.error('commands over Telegram are off until a restart', { err: error })
    return undefined
  }
}

async function listen(
  input: HandlerInput,
  control: DaemonControl,
  files: Reloader,
): Promise<{ close(): Promise<void> } | undefined> {
  const { settings, log } = input
  const resultOf = (request: ControlRequest): unknown => {
    switch (request.command) {
      case 'status':
        return statusOf(input, files)
      case 'pause':
        return control.pause(request.strategy)
      case 'resume':
        return control.resume(request.strategy)
      case 'approve':
        return control.approve(request.name)
      case 'halt':
        return control.halt()
      case 'trigger':
        return control.trigger(request.strategy)
      case 'order': {
        const order = manualOrderOf(request, settings)
        if (typeof order === 'string') return { ok: false, detail: order } satisfies Triggered
        return control.order(request.strategy, order)
      }
      case 'reload':
        return files.reload()
      case 'inspect':
        return control.inspect(request.intent as IntentId, request.tx)
      case 'settle': {
        const { as, tx, attempt } = request
        const verdict = as === 'dead' ? { as } : ({ as: 'executed', txHash: tx } as const)
        return control.settle(request.intent as IntentId, { attempt, verdict })
      }
    }
  }
  const answer = async (request: ControlRequest): Promise<ControlAnswer> => {
    const { command } = request
    const given = Object.values(request).filter((said) => said !== undefined)
    // Reads are not logged.
    if (command !== 'status' && command !== 'inspect')
      log.info(`asked to ${given.join(' ')}`, { event: 'control', ...request })
    return { ok: true, result: await resultOf(request) }
  }
  try {
    return await serveControl(controlPath(settings.stateDir), answer)
  } catch (error) {
    if (!(error instanceof ControlPathError)) throw error
    log.warn(`no control socket: ${error.message}`)
    return undefined
  }
}

/** A slot this late waits for something: a node, a service or other orders. */
const WAITING_SECONDS = 2

function statusOf(input: HandlerInput, files: Reloader): DaemonStatus {
  const { ok, reasons } = input.watch.probes.ready()
  const { strategies, nextSlotOf } = input.snapshot()
  const due = Math.floor(input.clock.now() / 1_000) - WAITING_SECONDS
  const waiting = strategies.flatMap((name) => {
    const slot = nextSlotOf(name)
    return slot === undefined || slot > due ? [] : [[name, slot] as const]
  })
  const ready = { ok, reasons }
  const inForce = (files.stale() ? files.active() : []).map(({ name, limits }) => {
    const perDay = [...limits.perDay].map(([token, cap]) => [token, cap.toString()])
    return [name, { nextSlot: nextSlotOf(name) ?? null, perDay: Object.fromEntries(perDay) }]
  })
  // Texts of services and nodes may repeat a secret.
  const waits = [...input.watch.waits()].map(([id, text]) => [id, input.scrubber.text(text)])
  return {
    ...{ stale: files.stale() ?? null, ready, waiting: Object.fromEntries(waiting) },
    orders: Object.fromEntries(waits),
    inForce: Object.fromEntries(inForce),
  }
}

export type DaemonStatus = {
  readonly stale: StaleFiles | null
  /** Why it is not ready, as the page says. Missing in answers of older daemons. */
  readonly ready?: { readonly ok: boolean; readonly reasons: readonly string[] }
  /** Due slots that wait, epoch seconds by strategy. Missing in answers of older daemons. */
  readonly waiting?: Readonly<Record<string, number>>
  /** What unsigned orders wait for, in words, by intent. Missing in answers of older daemons. */
  readonly orders?: Readonly<Record<string, string>>
  /** While files are refused: the next slot, epoch seconds, and caps in base units of each strategy in force. */
  readonly inForce?: Readonly<
    Record<string, { readonly nextSlot: number | null; readonly perDay: Record<Address, string> }>
  >
}
