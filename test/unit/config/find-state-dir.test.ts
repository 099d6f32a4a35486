import { describe, expect, test } from 'vitest'
import { findStateDir } from '../../../src/config/settings/find-state-dir.ts'

/** An environment variable as a config names it. */
const variable = (name: string) => `$\{${name}}`

function find(text: string, env: Record<string, string> = {}): string | undefined {
  return findStateDir({ file: '/etc/tranched/live.yaml', env, readFile: () => text })
}

describe('the state directory of a config that does not load', () => {
  test.each([
    ['has an unset variable elsewhere', `chains: "${variable('UNSET')}"\nstateDir: ./data\n`],
    ['has an unknown key', 'stateDir: "./data" # here\nstatsDir: ./other\n'],
    ['is no YAML further down', 'mode: live\nstateDir: ./data\ntokens: [\n'],
    ['is no YAML further up', 'mode: "live\nstateDir: ./data\n'],
  ])('is found when it %s', (_what, text) => {
    expect(find(text)).toBe('/etc/tranched/data')
  })

  test('may come from a variable that is set', () => {
    expect(find(`stateDir: "${variable('DIR')}/x"\nmode: [`, { DIR: '/srv' })).toBe('/srv/x')
  })

  test.each([
    ['says none', 'mode: live\n'],
    ['says two', 'stateDir: ./a\nstateDir: ./b\n'],
    ['says one of an unset variable', `stateDir: "${variable('UNSET')}/x"\n`],
    ['leaves it empty', 'stateDir:\nmode: live\n'],
  ])('is not guessed when it %s', (_what, text) => {
    expect(find(text)).toBeUndefined()
  })

  test('is not guessed when the file cannot be read', () => {
    const file = '/nowhere/live.yaml'
    expect(findStateDir({ file, env: {} })).toBeUndefined()
  })
})
