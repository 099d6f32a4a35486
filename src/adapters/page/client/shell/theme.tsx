import type { ComponentChildren } from 'preact'
import { createContext } from 'preact'
import { useContext, useEffect, useMemo, useState } from 'preact/hooks'
import { Icon } from '../parts/icon.tsx'

const KEY = 'tranched-theme'
const CHOICES = ['system', 'light', 'dark'] as const
type Choice = (typeof CHOICES)[number]

type Theme = {
  readonly choice: Choice
  /** What it comes to. */
  readonly seen: 'light' | 'dark'
  choose(choice: Choice): void
}

const ThemeContext = createContext<Theme | undefined>(undefined)

export function useTheme(): Theme {
  const theme = useContext(ThemeContext)
  if (theme === undefined) throw new Error('outside of the page')
  return theme
}

/** Before anything is drawn, so that nothing flashes. */
export function applyRememberedTheme(): void {
  apply(remembered())
}

/** A browser may keep nothing for us. Then the choice lasts as long as the page is open. */
function remembered(): Choice {
  try {
    const kept = localStorage.getItem(KEY)
    return CHOICES.find((choice) => choice === kept) ?? 'system'
  } catch {
    return 'system'
  }
}

function remember(choice: Choice): void {
  try {
    if (choice === 'system') localStorage.removeItem(KEY)
    else localStorage.setItem(KEY, choice)
  } catch {
    // See `remembered`.
  }
}

function apply(choice: Choice): void {
  document.documentElement.dataset['theme'] = choice
}

export function ThemeProvider({ children }: { children: ComponentChildren }) {
  const [choice, setChoice] = useState(remembered)
  const dark = useMemo(() => matchMedia('(prefers-color-scheme: dark)'), [])
  const [isDark, setDark] = useState(dark.matches)
  useEffect(() => {
    const onChange = () => setDark(dark.matches)
    dark.addEventListener('change', onChange)
    return () => dark.removeEventListener('change', onChange)
  }, [dark])
  const bySystem = isDark ? 'dark' : 'light'
  function choose(next: Choice) {
    apply(next)
    remember(next)
    setChoice(next)
  }
  return (
    <ThemeContext.Provider
      value={{ choice, seen: choice === 'system' ? bySystem : choice, choose }}
    >
      {children}
    </ThemeContext.Provider>
  )
}

const NAMES: Readonly<Record<Choice, string>> = {
  system: 'as the system has them',
  light: 'light',
  dark: 'dark',
}

export function ThemeSwitch() {
  const { choice, choose } = useTheme()
  const next = CHOICES[(CHOICES.indexOf(choice) + 1) % CHOICES.length] ?? 'system'
  const text = `Colours: ${NAMES[choice]}. Change to ${NAMES[next]}.`
  return (
    <button
      type="button"
      class="icon-button"
      aria-label={text}
      title={text}
      onClick={() => choose(next)}
    >
      <Icon name={choice} />
    </button>
  )
}
