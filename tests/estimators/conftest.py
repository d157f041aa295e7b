import pytest
from all_estimators import grouped_data


@pytest.fixture
def data():
    return grouped_data()
