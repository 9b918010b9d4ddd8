"""A real headless Chromium for the tests of pages; without one they are skipped and say so."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

TAB, ENTER, ESCAPE, RIGHT, DOWN = "\ue004", "\ue007", "\ue00c", "\ue014", "\ue015"  # as WebDriver writes them
MISSING = "no Chromium with its driver; on Debian: apt-get install chromium chromium-driver"


def chromium() -> str | None:
    return next(
        (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
    )


@contextmanager
def browser(width: int = 1200, height: int = 900, dark: bool = False) -> Iterator[Any]:
    """A selenium driver whose pages have exactly this size."""
    driver_path, binary = shutil.which("chromedriver"), chromium()
    if driver_path is None or binary is None:
        pytest.skip(MISSING)
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=driver_path))
    try:
        driver.set_page_load_timeout(120)
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        yield driver
    finally:
        driver.quit()


def press(driver: Any, key: str) -> None:
    """A key, wherever the focus is."""
    from selenium.webdriver import ActionChains

    ActionChains(driver).send_keys(key).perform()


def console(driver: Any) -> list[str]:
    """What the page wrote to the console since the last call: errors of scripts and of its policy among them."""
    return [entry["message"] for entry in driver.get_log("browser")]
