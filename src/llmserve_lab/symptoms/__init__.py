"""Reading the symptoms: dashboards of executed runs, causes told apart, remedies."""
