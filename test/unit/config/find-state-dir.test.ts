import { describe, expect, test } from 'vitest'
import { findStateDir } from '../../../src/config/settings/find-state-dir.ts'

/** An environment variable as written in a config. */
const variable = (name: string) => `$\{${name}}`

function find(text: string, env: Record<string, string> = {}): string | undefined {
  return findStateDir({ file: '/etc/tranched/live.yaml', env, readFile: () => text })
}

describe('the state directory of a config that does not load', () => {
  test.each([
    ['has an unset variable elsewhere', `chains: "${variable('UNSET')}"\nstateDir: ./data\n`],
    ['has an unknown key', 'stateDir: "./data" # here\nstatsDir: ./other\n'],
    ['is invalid YAML further down', 'mode: live\nstateDir: ./data\ntokens: [\n'],
    ['is invalid YAML further up', 'mode: "live\nstateDir: ./data\n'],
  ])('is found if the file %s', (_what, text) => {
    expect(find(text)).toBe('/etc/tranched/data')
  })

  test('may come from a set variable', () => {
    expect(find(`stateDir: "${variable('DIR')}/x"\nmode: [`, { DIR: '/srv' })).toBe('/srv/x')
  })

  test.each([
    ['names none', 'mode: live\n'],
    ['names two', 'stateDir: ./a\nstateDir: ./b\n'],
    ['uses an unset variable', `stateDir: "${variable('UNSET')}/x"\n`],
    ['leaves it empty', 'stateDir:\nmode: live\n'],
  ])('is not guessed if the file %s', (_what, text) => {
    expect(find(text)).toBeUndefined()
  })

  test('is not guessed if the file cannot be read', () => {
    const file = '/nowhere/live.yaml'
    expect(findStateDir({ file, env: {} })).toBeUndefined()
  })
})
