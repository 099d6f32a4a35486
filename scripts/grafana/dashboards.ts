import { DAEMON } from './daemon.ts'
import { dashboardOf } from './frame.ts'
import { GAS_TANK } from './gas-tank.ts'
import { MONEY } from './money.ts'
import { OVERVIEW } from './overview.ts'
import { SERVICES } from './services.ts'
import { STRATEGY } from './strategy.ts'

const SHEETS = [OVERVIEW, STRATEGY, MONEY, SERVICES, GAS_TANK, DAEMON]

/** Every dashboard as Grafana reads it, by the name of its file. */
export function dashboards(): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    SHEETS.map((sheet) => [`${sheet.uid.replace('tranched-', '')}.json`, dashboardOf(sheet)]),
  )
}
