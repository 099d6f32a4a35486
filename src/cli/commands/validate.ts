import { relative } from 'node:path'
import { peekMode } from '../../config/settings/load.ts'
import { scheduleWarnings } from '../../domain/schedule/calendar.ts'
import type { Strategy } from '../../domain/strategy.ts'
import { SANDBOX_TEMPLATE } from '../../sandbox/template.ts'
import { withModules } from '../compose/modules.ts'
import { EXIT, type ExitCode, type Io, printJson } from '../io.ts'
import { type ConfigOptions, loadAll, renderAll, reportProblems } from '../load.ts'

/** `tranched validate`: reads everything a run would read and says all that is wrong with it. Touches nothing. */
export async function validate(
  options: ConfigOptions,
  io: Io,
  nowSeconds: number,
): Promise<ExitCode> {
  const mode = peekMode({ file: options.config })
  if (!mode.ok) return reportProblems(mode.problems, io, options)
  const sandbox = mode.mode === 'sandbox' ? SANDBOX_TEMPLATE : undefined
  const loaded = await withModules((modules) => loadAll(options, io, modules, sandbox))
  if (!loaded.ok) return reportProblems(loaded.problems, io, options)
  const { settings, strategies, warnings } = loaded
  const schedules = strategies.flatMap((strategy) => scheduleNotes(strategy, nowSeconds))
  if (options.json) {
    printJson(io, {
      ok: true,
      mode: settings.mode,
      strategies: strategies.map(({ name, kind, enabled, file }) => ({
        name,
        kind,
        enabled,
        file,
      })),
      warnings,
      schedules,
    })
    return EXIT.done
  }
  if (warnings.length > 0) io.stderr.write(`${renderAll(warnings, io)}\n`)
  for (const note of schedules) io.stderr.write(`warning: ${note.strategy}: ${note.message}\n`)
  const enabled = strategies.filter((strategy) => strategy.enabled).length
  const count = strategies.length === 1 ? '1 strategy' : `${strategies.length} strategies`
  io.stdout.write(
    `${options.config}: ok (mode ${settings.mode}, ${count} of ${relative('', settings.strategiesDir)}, ${enabled} enabled)\n`,
  )
  return EXIT.done
}

function scheduleNotes(
  { name, schedule }: Strategy,
  nowSeconds: number,
): readonly { strategy: string; message: string }[] {
  return scheduleWarnings(schedule, nowSeconds).map((message) => ({ strategy: name, message }))
}
